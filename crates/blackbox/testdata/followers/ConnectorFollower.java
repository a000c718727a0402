import com.github.shyiko.mysql.binlog.BinaryLogClient;
import com.github.shyiko.mysql.binlog.event.DeleteRowsEventData;
import com.github.shyiko.mysql.binlog.event.Event;
import com.github.shyiko.mysql.binlog.event.EventData;
import com.github.shyiko.mysql.binlog.event.EventHeaderV4;
import com.github.shyiko.mysql.binlog.event.EventType;
import com.github.shyiko.mysql.binlog.event.TableMapEventData;
import com.github.shyiko.mysql.binlog.event.TableMapEventMetadata;
import com.github.shyiko.mysql.binlog.event.UpdateRowsEventData;
import com.github.shyiko.mysql.binlog.event.WriteRowsEventData;
import com.github.shyiko.mysql.binlog.event.deserialization.ColumnType;
import com.github.shyiko.mysql.binlog.event.deserialization.EventDeserializer;
import com.github.shyiko.mysql.binlog.event.deserialization.json.JsonBinary;
import java.io.IOException;
import java.io.Serializable;
import java.math.BigDecimal;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * mysql-binlog-connector-java follows a server from a file's beginning: PORT FILE FOLDER. It keeps its place in FOLDER
 * and appends to FOLDER/changes until it is killed. The place of a change is file, end of the event, and row.
 */
public class ConnectorFollower {
    private static final Map<Long, TableMapEventData> TABLES = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[2]);
        Path place = folder.resolve("place");
        BinaryLogClient client = new BinaryLogClient("127.0.0.1", Integer.parseInt(arguments[0]), "root", "");
        client.setServerId(5800);
        client.setHeartbeatInterval(1000);
        client.setKeepAlive(false);
        String[] from = Files.exists(place) ? Files.readString(place).split(" ") : new String[] {arguments[1], "4"};
        client.setBinlogFilename(from[0]);
        client.setBinlogPosition(Long.parseLong(from[1]));
        EventDeserializer deserializer = new EventDeserializer();
        deserializer.setCompatibilityMode(
                EventDeserializer.CompatibilityMode.CHAR_AND_BINARY_AS_BYTE_ARRAY,
                EventDeserializer.CompatibilityMode.DATE_AND_TIME_AS_LONG_MICRO);
        client.setEventDeserializer(deserializer);
        Changes changes = new Changes(folder.resolve("changes"));
        client.registerEventListener(event -> {
            try {
                take(event, client.getBinlogFilename(), changes, place);
            } catch (IOException | RuntimeException error) {
                error.printStackTrace();
                System.exit(1);
            }
        });
        // It ends with the connection; the test starts it again.
        client.connect();
        System.exit(1);
    }

    private static void take(Event event, String file, Changes changes, Path place) throws IOException {
        EventData data = event.getData();
        long end = ((EventHeaderV4) event.getHeader()).getNextPosition();
        if (event.getHeader().getEventType() == EventType.XID) {
            changes.flush();
            Path written = place.resolveSibling("place.new");
            Files.writeString(written, file + " " + end);
            Files.move(written, place, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } else if (data instanceof TableMapEventData map) {
            TABLES.put(map.getTableId(), map);
        } else if (data instanceof WriteRowsEventData rows) {
            add(changes, file, end, "+", rows.getTableId(), List.of(), rows.getRows());
        } else if (data instanceof DeleteRowsEventData rows) {
            add(changes, file, end, "-", rows.getTableId(), rows.getRows(), List.of());
        } else if (data instanceof UpdateRowsEventData rows) {
            List<Serializable[]> before = rows.getRows().stream().map(Map.Entry::getKey).toList();
            List<Serializable[]> after = rows.getRows().stream().map(Map.Entry::getValue).toList();
            add(changes, file, end, ">", rows.getTableId(), before, after);
        }
    }

    private static void add(Changes changes, String file, long end, String kind, long table, List<Serializable[]> before, List<Serializable[]> after)
            throws IOException {
        TableMapEventData map = TABLES.get(table);
        if (!map.getDatabase().equals("follow")) {
            return;
        }
        for (int row = 0; row < Math.max(before.size(), after.size()); row++) {
            changes.add(file + " " + end + " " + row, kind, map.getDatabase() + "." + map.getTable(),
                    before.isEmpty() ? List.of() : shown(before.get(row), map), after.isEmpty() ? List.of() : shown(after.get(row), map));
        }
    }

    private static List<String> shown(Serializable[] row, TableMapEventData map) throws IOException {
        List<String> values = new ArrayList<>();
        Columns columns = new Columns(map.getEventMetadata());
        for (int at = 0; at < row.length; at++) {
            values.add(columns.shown(row[at], ColumnType.byCode(map.getColumnTypes()[at] & 0xFF), map.getColumnMetadata()[at]));
        }
        return values;
    }

    /** Goes through the columns of a row, whose signs, character sets and members are listed by kind of column. */
    private static class Columns {
        private final TableMapEventMetadata metadata;
        private int numbers;
        private int texts;
        private int enums;
        private int sets;

        Columns(TableMapEventMetadata metadata) {
            this.metadata = metadata;
        }

        String shown(Serializable value, ColumnType type, int meta) throws IOException {
            if (type == ColumnType.STRING) {
                // What a STRING is stands in its metadata.
                int real = (meta >> 8) | 0x30;
                if (real == ColumnType.ENUM.getCode() || real == ColumnType.SET.getCode()) {
                    type = ColumnType.byCode(real);
                }
            }
            switch (type) {
                case TINY: case SHORT: case INT24: case LONG: case LONGLONG: {
                    boolean unsigned = isSet(metadata.getSignedness(), numbers++);
                    int bytes = Map.of(ColumnType.TINY, 1, ColumnType.SHORT, 2, ColumnType.INT24, 3, ColumnType.LONG, 4, ColumnType.LONGLONG, 8).get(type);
                    return value == null ? Changes.NULL : unsigned ? Changes.unsigned(((Number) value).longValue(), bytes) : value.toString();
                }
                case FLOAT: case DOUBLE:
                    numbers++;
                    return value == null ? Changes.NULL : Changes.real(((Number) value).doubleValue());
                case NEWDECIMAL:
                    numbers++;
                    return value == null ? Changes.NULL : ((BigDecimal) value).toPlainString();
                case YEAR:
                    numbers++;
                    return value == null ? Changes.NULL : value.toString();
                case ENUM: {
                    String[] members = metadata.getEnumStrValues().get(enums++);
                    return value == null ? Changes.NULL : members[(Integer) value - 1];
                }
                case SET: {
                    String[] members = metadata.getSetStrValues().get(sets++);
                    return value == null ? Changes.NULL : set(members, (Long) value);
                }
                case VARCHAR: case VAR_STRING: case STRING: case BLOB: {
                    int charset = charset(texts++);
                    if (value == null) {
                        return Changes.NULL;
                    }
                    byte[] bytes = (byte[]) value;
                    if (charset == 63) {
                        return Changes.binary(bytes, type == ColumnType.STRING);
                    }
                    // The collations of latin1.
                    boolean latin1 = List.of(5, 8, 15, 31, 47, 48, 49, 94).contains(charset);
                    return Changes.text(new String(bytes, latin1 ? Charset.forName("windows-1252") : StandardCharsets.UTF_8));
                }
                default:
                    return value == null ? Changes.NULL : other(value, type);
            }
        }

        private int charset(int text) {
            if (metadata.getColumnCharsets() != null) {
                return metadata.getColumnCharsets().get(text);
            }
            TableMapEventMetadata.DefaultCharset charsets = metadata.getDefaultCharset();
            Map<Integer, Integer> others = charsets.getCharsetCollations();
            return others != null && others.containsKey(text) ? others.get(text) : charsets.getDefaultCharsetCollation();
        }

        private static boolean isSet(BitSet bits, int at) {
            return bits != null && bits.get(at);
        }

        private static String set(String[] members, long bits) {
            List<String> set = new ArrayList<>();
            for (int at = 0; at < members.length; at++) {
                if ((bits >> at & 1) == 1) {
                    set.add(members[at]);
                }
            }
            return String.join(",", set);
        }

        private static String other(Serializable value, ColumnType type) throws IOException {
            switch (type) {
                case BIT: {
                    long[] bits = ((BitSet) value).toLongArray();
                    return Changes.bits(bits.length == 0 ? 0 : bits[0]);
                }
                case JSON:
                    return Changes.json(JsonBinary.parseAsString((byte[]) value));
                case DATE:
                    return LocalDate.ofEpochDay(Math.floorDiv((Long) value, 86_400_000_000L)).toString();
                case TIME: case TIME_V2:
                    return Changes.time((Long) value);
                case DATETIME: case DATETIME_V2: case TIMESTAMP: case TIMESTAMP_V2: {
                    long micros = (Long) value;
                    return Changes.moment(LocalDateTime.ofEpochSecond(
                            Math.floorDiv(micros, 1_000_000L), (int) Math.floorMod(micros, 1_000_000L) * 1000, ZoneOffset.UTC));
                }
                default:
                    throw new IllegalStateException(type.toString());
            }
        }
    }
}
