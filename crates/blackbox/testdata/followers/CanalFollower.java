import com.alibaba.otter.canal.instance.manager.CanalInstanceWithManager;
import com.alibaba.otter.canal.instance.manager.model.Canal;
import com.alibaba.otter.canal.instance.manager.model.CanalParameter;
import com.alibaba.otter.canal.parse.inbound.mysql.MysqlEventParser;
import com.alibaba.otter.canal.parse.inbound.mysql.tsdb.MemoryTableMeta;
import com.alibaba.otter.canal.parse.inbound.mysql.tsdb.TableMetaTSDB;
import com.alibaba.otter.canal.parse.inbound.mysql.tsdb.TableMetaTSDBFactory;
import com.alibaba.otter.canal.protocol.CanalEntry;
import com.alibaba.otter.canal.protocol.ClientIdentity;
import com.alibaba.otter.canal.protocol.Message;
import com.alibaba.otter.canal.protocol.position.EntryPosition;
import com.alibaba.otter.canal.server.embedded.CanalServerWithEmbedded;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * canal's embedded server follows a server from a file's beginning: PORT FILE FOLDER. It keeps its place in FOLDER and
 * appends to FOLDER/changes until it is killed. The place of a change is file, position and row.
 */
public class CanalFollower {
    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[2]);
        CanalParameter parameter = new CanalParameter();
        parameter.setSourcingType(CanalParameter.SourcingType.MYSQL);
        parameter.setMetaMode(CanalParameter.MetaMode.LOCAL_FILE);
        parameter.setDataDir(folder.toString());
        parameter.setMetaFileFlushPeriod(200);
        parameter.setIndexMode(CanalParameter.IndexMode.MEMORY_META_FAILBACK);
        parameter.setStorageMode(CanalParameter.StorageMode.MEMORY);
        parameter.setMemoryStorageRawEntry(false);
        parameter.setDbAddresses(List.of(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0]))));
        parameter.setDbUsername("canal");
        parameter.setDbPassword("a secret");
        parameter.setSlaveId(5500L);
        parameter.setConnectionCharset("UTF-8");
        parameter.setDetectingEnable(false);
        parameter.setPositions(List.of("{\"journalName\":\"" + arguments[1] + "\",\"position\":4}"));
        Canal canal = new Canal();
        canal.setId(1L);
        canal.setName("cohort");
        canal.setCanalParameter(parameter);
        CanalServerWithEmbedded server = CanalServerWithEmbedded.instance();
        server.setCanalInstanceGenerator(destination -> {
            CanalInstanceWithManager instance = new CanalInstanceWithManager(canal, "follow\\..*");
            MysqlEventParser parser = (MysqlEventParser) instance.getEventParser();
            parser.setTableMetaTSDBFactory(new Tables.Factory(folder.resolve("tables")));
            parser.setTsdbJdbcUrl("");
            parser.setTsdbJdbcUserName("");
            parser.setTsdbJdbcPassword("");
            parser.setEnableTsdb(true);
            // Events that are held at a time: rows of a million bytes have to fit into memory.
            parser.setParallelBufferSize(16);
            parser.setTransactionSize(64);
            return instance;
        });
        server.start();
        server.start("cohort");
        ClientIdentity client = new ClientIdentity("cohort", (short) 1, "follow\\..*");
        server.subscribe(client);
        try (Changes changes = new Changes(folder.resolve("changes"))) {
            while (true) {
                Message message = server.getWithoutAck(client, 1000, 200L, TimeUnit.MILLISECONDS);
                for (CanalEntry.Entry entry : message.getEntries()) {
                    if (entry.getEntryType() == CanalEntry.EntryType.ROWDATA) {
                        add(changes, entry);
                    }
                }
                changes.flush();
                if (message.getId() != -1) {
                    server.ack(client, message.getId());
                }
            }
        }
    }

    private static void add(Changes changes, CanalEntry.Entry entry) throws IOException {
        CanalEntry.RowChange change = CanalEntry.RowChange.parseFrom(entry.getStoreValue());
        CanalEntry.Header header = entry.getHeader();
        // A statement that canal does not know for DDL has no rows either.
        if (change.getIsDdl() || change.getEventType() == CanalEntry.EventType.QUERY) {
            System.err.println("statement: " + change.getSql());
            return;
        }
        String kind = switch (change.getEventType()) {
            case INSERT -> "+";
            case UPDATE -> ">";
            case DELETE -> "-";
            default -> throw new IllegalStateException(change.getEventType().toString());
        };
        int number = 0;
        for (CanalEntry.RowData row : change.getRowDatasList()) {
            String place = header.getLogfileName() + " " + header.getLogfileOffset() + " " + number++;
            String table = header.getSchemaName() + "." + header.getTableName();
            changes.add(place, kind, table, shown(row.getBeforeColumnsList()), shown(row.getAfterColumnsList()));
        }
    }

    private static List<String> shown(List<CanalEntry.Column> columns) {
        return columns.stream().map(CanalFollower::shown).toList();
    }

    private static String shown(CanalEntry.Column column) {
        if (column.getIsNull()) {
            return Changes.NULL;
        }
        String value = column.getValue();
        String type = column.getMysqlType().toLowerCase();
        return switch (type.split("[( ]")[0]) {
            case "float" -> Changes.real(Float.parseFloat(value));
            case "double" -> Changes.real(Double.parseDouble(value));
            case "bit" -> Changes.bits(Long.parseUnsignedLong(value));
            // It leaves out zeros of the last digits after the point.
            case "decimal" -> new BigDecimal(value).setScale(scale(type)).toPlainString();
            case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob" ->
                Changes.binary(value.getBytes(StandardCharsets.ISO_8859_1), type.startsWith("binary"));
            case "json" -> Changes.json(value);
            case "time", "datetime", "timestamp" -> Changes.trimmed(value);
            case "enum" -> Changes.text(members(column.getMysqlType())[Integer.parseInt(value) - 1]);
            case "set" -> {
                String[] members = members(column.getMysqlType());
                long bits = Long.parseLong(value);
                List<String> set = new ArrayList<>();
                for (int at = 0; at < members.length; at++) {
                    if ((bits >> at & 1) == 1) {
                        set.add(members[at]);
                    }
                }
                yield String.join(",", set);
            }
            default -> Changes.text(value);
        };
    }

    /** Digits after the point. */
    private static int scale(String type) {
        return type.contains(",") ? Integer.parseInt(type.substring(type.indexOf(',') + 1, type.indexOf(')')).trim()) : 0;
    }

    /** Of an ENUM or a SET. */
    private static String[] members(String type) {
        return type.substring(type.indexOf('(') + 1, type.lastIndexOf(')')).replaceAll("^'|'$", "").split("','");
    }

    /** Definitions of tables as of any place; those of a file stand in for canal's database of them. */
    private static class Tables extends MemoryTableMeta {
        private final Path file;

        Tables(Path file) {
            this.file = file;
        }

        @Override
        public boolean apply(EntryPosition at, String schema, String ddl, String extra) {
            String line = at.getJournalName() + " " + at.getPosition() + " " + encoded(schema) + " " + encoded(ddl) + "\n";
            try {
                Files.writeString(file, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            } catch (IOException error) {
                throw new java.io.UncheckedIOException(error);
            }
            return super.apply(at, schema, ddl, extra);
        }

        @Override
        public boolean rollback(EntryPosition to) {
            try {
                List<String> kept = new ArrayList<>();
                for (String line : Files.exists(file) ? Files.readAllLines(file) : List.<String>of()) {
                    String[] parts = line.split(" ", -1);
                    EntryPosition at = new EntryPosition(parts[0], Long.parseLong(parts[1]));
                    if (parts.length == 4 && at.compareTo(to) <= 0) {
                        super.apply(at, decoded(parts[2]), decoded(parts[3]), null);
                        kept.add(line);
                    }
                }
                // What follows comes again.
                Files.write(file, kept);
            } catch (IOException error) {
                throw new java.io.UncheckedIOException(error);
            }
            return true;
        }

        private static String encoded(String text) {
            return text == null ? "" : Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
        }

        private static String decoded(String text) {
            return text.isEmpty() ? null : new String(Base64.getDecoder().decode(text), StandardCharsets.UTF_8);
        }

        record Factory(Path file) implements TableMetaTSDBFactory {
            @Override
            public TableMetaTSDB build(String destination, String springXml) {
                return new Tables(file);
            }

            @Override
            public void destory(String destination) {}
        }
    }
}
