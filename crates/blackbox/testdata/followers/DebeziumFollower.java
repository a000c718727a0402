import io.debezium.embedded.Connect;
import io.debezium.engine.RecordChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.ChangeEventFormat;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.ObjectOutputStream;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.runtime.WorkerConfig;
import org.apache.kafka.connect.runtime.standalone.StandaloneConfig;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.FileOffsetBackingStore;

/**
 * Debezium's connector for MySQL follows a server, and its changes are written to a file as the tests compare them.
 * `engine CONNECTOR FOLDER` follows with the embedded engine, which keeps its place in FOLDER; CONNECTOR has the
 * settings of the connector; `topics BROKER FOLDER` reads
 * the topics that Kafka Connect has filled. Both append to FOLDER/changes until they are killed. The place of a
 * change is GTID, file, position and row.
 */
public class DebeziumFollower {
    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[2]);
        try (Changes changes = new Changes(folder.resolve("changes"))) {
            switch (arguments[0]) {
                case "engine" -> engine(arguments[1], folder, changes);
                case "topics" -> topics(arguments[1], changes);
                default -> throw new IllegalArgumentException(arguments[0]);
            }
        }
    }

    private static void engine(String connector, Path folder, Changes changes) throws IOException {
        Properties settings = new Properties();
        try (BufferedReader reader = Files.newBufferedReader(Path.of(connector))) {
            settings.load(reader);
        }
        settings.putAll(Map.of(
                "offset.storage", Offsets.class.getName(),
                "offset.storage.file.filename", folder.resolve("offsets").toString(),
                "offset.flush.interval.ms", "200",
                "schema.history.internal", "io.debezium.storage.file.history.FileSchemaHistory",
                "schema.history.internal.file.filename", folder.resolve("history").toString()));
        // A kill may have cut its last line, which the next one would be appended to.
        if (Files.exists(folder.resolve("history"))) {
            new Changes(folder.resolve("history")).close();
        }
        DebeziumEngine<RecordChangeEvent<SourceRecord>> engine =
                DebeziumEngine.create(ChangeEventFormat.of(Connect.class)).using(settings).notifying((events, committer) -> {
                    try {
                        for (RecordChangeEvent<SourceRecord> event : events) {
                            if (event.record().value() instanceof Struct value) {
                                add(changes, value);
                            }
                        }
                        changes.flush();
                    } catch (IOException error) {
                        throw new java.io.UncheckedIOException(error);
                    }
                    for (RecordChangeEvent<SourceRecord> event : events) {
                        committer.markProcessed(event);
                    }
                    committer.markBatchFinished();
                }).using((success, message, error) -> System.err.println("ended: " + success + " " + message + " " + error))
                .build();
        engine.run();
    }

    /**
     * The place of the engine. Kafka's own class empties the file before it writes, and takes an empty one for a first
     * start: this one leaves a place whenever it is killed.
     */
    public static class Offsets extends FileOffsetBackingStore {
        private Path path;

        public Offsets() {
            super(keys());
        }

        private static JsonConverter keys() {
            JsonConverter converter = new JsonConverter();
            converter.configure(Map.of("schemas.enable", "false"), true);
            return converter;
        }

        @Override
        public void configure(WorkerConfig config) {
            super.configure(config);
            path = Path.of(config.getString(StandaloneConfig.OFFSET_STORAGE_FILE_FILENAME_CONFIG));
        }

        @Override
        protected void save() {
            Map<byte[], byte[]> plain = new HashMap<>();
            data.forEach((key, value) -> plain.put(bytes(key), bytes(value)));
            Path next = path.resolveSibling("offsets.next");
            try {
                try (ObjectOutputStream out = new ObjectOutputStream(Files.newOutputStream(next))) {
                    out.writeObject(plain);
                }
                Files.move(next, path, StandardCopyOption.ATOMIC_MOVE);
            } catch (IOException error) {
                throw new java.io.UncheckedIOException(error);
            }
        }

        private static byte[] bytes(ByteBuffer buffer) {
            return buffer == null ? null : buffer.array();
        }
    }

    private static void topics(String broker, Changes changes) throws IOException {
        Map<String, Object> settings = Map.of(
                "bootstrap.servers", broker,
                "group.id", "changes",
                "auto.offset.reset", "earliest",
                "enable.auto.commit", "false",
                "metadata.max.age.ms", "1000",
                "max.partition.fetch.bytes", "100000000");
        JsonConverter converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", "true"), false);
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(Pattern.compile("cohort\\..*"));
            while (true) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    if (record.value() != null && converter.toConnectData(record.topic(), record.value()).value() instanceof Struct value) {
                        add(changes, value);
                    }
                }
                changes.flush();
                consumer.commitSync();
            }
        }
    }

    private static void add(Changes changes, Struct value) throws IOException {
        Schema schema = value.schema();
        if (schema.field("op") == null || schema.field("source") == null) {
            return;
        }
        Struct source = value.getStruct("source");
        String place = source.getString("gtid") + " " + source.getString("file") + " " + source.getInt64("pos") + " " + source.getInt32("row");
        String kind = switch (value.getString("op")) {
            case "r" -> "r";
            case "c" -> "+";
            case "u" -> ">";
            case "d" -> "-";
            default -> throw new IllegalStateException(value.getString("op"));
        };
        List<String> before = "->".contains(kind) ? row(value.getStruct("before")) : List.of();
        List<String> after = kind.equals("-") ? List.of() : row(value.getStruct("after"));
        changes.add(place, kind, source.getString("db") + "." + source.getString("table"), before, after);
    }

    private static List<String> row(Struct row) {
        return row.schema().fields().stream().map(field -> shown(row.get(field), field.schema())).toList();
    }

    private static String shown(Object value, Schema schema) {
        if (value == null) {
            return Changes.NULL;
        }
        String name = schema.name() == null ? "" : schema.name();
        String type = schema.parameters() == null ? "" : schema.parameters().getOrDefault("__debezium.source.column.type", "");
        switch (name) {
            case "io.debezium.data.Bits": {
                // The lowest byte first.
                byte[] bytes = value instanceof ByteBuffer buffer ? buffer.array() : (byte[]) value;
                long bits = 0;
                for (int at = 0; at < bytes.length; at++) {
                    bits |= (bytes[at] & 0xFFL) << 8 * at;
                }
                return Changes.bits(bits);
            }
            case "io.debezium.data.Json":
                return Changes.json((String) value);
            case "io.debezium.time.Date":
                return LocalDate.ofEpochDay((Integer) value).toString();
            case "io.debezium.time.MicroTime":
                return Changes.time((Long) value);
            case "io.debezium.time.Timestamp":
                return Changes.moment(LocalDateTime.ofInstant(Instant.ofEpochMilli((Long) value), ZoneOffset.UTC));
            case "io.debezium.time.MicroTimestamp": {
                long micros = (Long) value;
                return Changes.moment(LocalDateTime.ofEpochSecond(
                        Math.floorDiv(micros, 1_000_000L), (int) Math.floorMod(micros, 1_000_000L) * 1000, ZoneOffset.UTC));
            }
            case "io.debezium.time.ZonedTimestamp":
                return Changes.moment(LocalDateTime.ofInstant(Instant.parse((String) value), ZoneOffset.UTC));
            default:
                break;
        }
        if (value instanceof Boolean bit) {
            return bit ? "1" : "0";
        }
        if (value instanceof Float || value instanceof Double) {
            return Changes.real(((Number) value).doubleValue());
        }
        if (value instanceof BigDecimal decimal) {
            return decimal.toPlainString();
        }
        if (value instanceof ByteBuffer buffer) {
            return Changes.binary(buffer.array(), type.equals("BINARY"));
        }
        if (value instanceof byte[] bytes) {
            return Changes.binary(bytes, type.equals("BINARY"));
        }
        return Changes.text(value.toString());
    }
}
