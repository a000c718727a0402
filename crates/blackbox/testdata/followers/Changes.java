import java.io.IOException;
import java.io.RandomAccessFile;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.HexFormat;
import java.util.List;
import java.util.zip.CRC32;

/**
 * The file of changes that a follower writes, one a line: its place, what it is (+ - > or r for a row of a snapshot), the
 * table, and the values as `crates/blackbox/tests/followers/shown.rs` has them. What a kill left half written is cut off.
 */
class Changes implements AutoCloseable {
    private final RandomAccessFile file;
    private final StringBuilder pending = new StringBuilder();

    Changes(Path path) throws IOException {
        file = new RandomAccessFile(path.toFile(), "rw");
        long end = file.length();
        while (end > 0) {
            file.seek(end - 1);
            if (file.read() == '\n') {
                break;
            }
            end--;
        }
        file.setLength(end);
        file.seek(end);
    }

    void add(String place, String kind, String table, List<String> before, List<String> after) throws IOException {
        pending.append(place).append('\t').append(kind).append('\t').append(table);
        before.forEach(value -> pending.append('\t').append(value));
        if (kind.equals(">")) {
            pending.append("\t=>");
        }
        after.forEach(value -> pending.append('\t').append(value));
        pending.append('\n');
        if (pending.length() > 1 << 20) {
            flush();
        }
    }

    /** Call this before the follower keeps its place: no change gets lost then, but one may come twice. */
    void flush() throws IOException {
        file.write(pending.toString().getBytes(StandardCharsets.UTF_8));
        pending.setLength(0);
    }

    @Override
    public void close() throws IOException {
        file.close();
    }

    static final String NULL = "\\N";

    static String text(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return bytes.length > 100 ? summed(bytes) : escaped(text);
    }

    static String json(String text) {
        return "j" + escaped(text);
    }

    /** The bytes of a BINARY column are `padded`. */
    static String binary(byte[] bytes, boolean padded) {
        int length = bytes.length;
        while (padded && length > 0 && bytes[length - 1] == 0) {
            length--;
        }
        return length > 100 ? summed(bytes) : "x" + HexFormat.of().formatHex(bytes, 0, length);
    }

    static String real(double number) {
        return String.format("f%016x", Double.doubleToLongBits(number));
    }

    static String bits(long bits) {
        return Long.toUnsignedString(bits);
    }

    static String unsigned(long number, int bytes) {
        return new BigInteger(Long.toUnsignedString(bytes == 8 ? number : number & (1L << 8 * bytes) - 1)).toString();
    }

    static String time(long micros) {
        long rest = Math.abs(micros);
        long seconds = rest / 1_000_000L;
        String sign = micros < 0 ? "-" : "";
        return String.format("%s%02d:%02d:%02d", sign, seconds / 3600, seconds / 60 % 60, seconds % 60) + fraction(rest % 1_000_000L);
    }

    static String moment(LocalDateTime at) {
        return at.format(DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss")) + fraction(at.getNano() / 1000);
    }

    /** A date or time as text, without zeros at the end of its fraction. */
    static String trimmed(String text) {
        return text.contains(".") ? text.replaceAll("\\.?0+$", "") : text;
    }

    private static String fraction(long micros) {
        return micros == 0 ? "" : trimmed(String.format(".%06d", micros));
    }

    private static String escaped(String text) {
        return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n");
    }

    private static String summed(byte[] bytes) {
        CRC32 sum = new CRC32();
        sum.update(bytes);
        return String.format("#%d:%08x", bytes.length, sum.getValue());
    }
}
