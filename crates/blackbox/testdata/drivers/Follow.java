import com.github.shyiko.mysql.binlog.BinaryLogClient;
import com.github.shyiko.mysql.binlog.event.DeleteRowsEventData;
import com.github.shyiko.mysql.binlog.event.Event;
import com.github.shyiko.mysql.binlog.event.EventData;
import com.github.shyiko.mysql.binlog.event.TableMapEventData;
import com.github.shyiko.mysql.binlog.event.TransactionPayloadEventData;
import com.github.shyiko.mysql.binlog.event.UpdateRowsEventData;
import com.github.shyiko.mysql.binlog.event.WriteRowsEventData;
import com.github.shyiko.mysql.binlog.event.deserialization.EventDeserializer;
import java.io.Serializable;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * mysql-binlog-connector-java, on which Debezium is built, follows the binlog: PORT FILE GTIDS. Prints each row that was
 * changed, to the row that says end.
 */
public class Follow {
    public static void main(String[] arguments) throws Exception {
        BinaryLogClient client = new BinaryLogClient("127.0.0.1", Integer.parseInt(arguments[0]), "root", "");
        client.setServerId(ProcessHandle.current().pid());
        client.setHeartbeatInterval(1000);
        client.setKeepAlive(false);
        if (arguments[2].isEmpty()) {
            client.setBinlogFilename(arguments[1]);
            client.setBinlogPosition(4);
        } else {
            client.setGtidSet(arguments[2]);
        }
        EventDeserializer deserializer = new EventDeserializer();
        deserializer.setCompatibilityMode(EventDeserializer.CompatibilityMode.CHAR_AND_BINARY_AS_BYTE_ARRAY);
        client.setEventDeserializer(deserializer);
        client.registerEventListener(Follow::show);
        client.connect();
    }

    private static final Map<Long, String> tables = new HashMap<>();

    private static void show(Event event) {
        EventData data = event.getData();
        if (data instanceof TableMapEventData map) {
            tables.put(map.getTableId(), map.getDatabase() + "." + map.getTable());
        } else if (data instanceof TransactionPayloadEventData payload) {
            payload.getUncompressedEvents().forEach(Follow::show);
        } else if (data instanceof WriteRowsEventData rows) {
            for (Serializable[] row : rows.getRows()) {
                System.out.println(tables.get(rows.getTableId()) + " + " + shown(row));
                if (shown(row).contains("end")) {
                    System.exit(0);
                }
            }
        } else if (data instanceof UpdateRowsEventData rows) {
            for (Map.Entry<Serializable[], Serializable[]> row : rows.getRows()) {
                System.out.println(tables.get(rows.getTableId()) + " " + shown(row.getKey()) + " > " + shown(row.getValue()));
            }
        } else if (data instanceof DeleteRowsEventData rows) {
            for (Serializable[] row : rows.getRows()) {
                System.out.println(tables.get(rows.getTableId()) + " - " + shown(row));
            }
        }
    }

    private static String shown(Serializable[] row) {
        return String.join(", ", Arrays.stream(row).map(value -> value instanceof byte[] bytes ? new String(bytes, java.nio.charset.StandardCharsets.UTF_8) : String.valueOf(value)).toList());
    }
}
