import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** Connector/J over TLS: PORT CA USER PASSWORD. Prints what the test looks for. */
public class Tls {
    public static void main(String[] arguments) throws Exception {
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        try (InputStream in = Files.newInputStream(Path.of(arguments[1]))) {
            trusted.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(in));
        }
        Path file = Files.createTempFile("trusted", ".p12");
        file.toFile().deleteOnExit();
        try (OutputStream out = Files.newOutputStream(file)) {
            trusted.store(out, "trusted".toCharArray());
        }
        String url = "jdbc:mysql://127.0.0.1:" + arguments[0] + "/?sslMode=VERIFY_IDENTITY&rewriteBatchedStatements=true"
            + "&trustCertificateKeyStoreType=PKCS12&trustCertificateKeyStorePassword=trusted"
            + "&trustCertificateKeyStoreUrl=" + file.toUri();
        try (Connection connection = DriverManager.getConnection(url, arguments[2], arguments[3])) {
            try (Statement statement = connection.createStatement()) {
                statement.execute("CREATE DATABASE IF NOT EXISTS java");
                statement.execute("CREATE TABLE java.t (id INT PRIMARY KEY, body LONGTEXT)");
            }
            connection.setAutoCommit(false);
            String insert = "INSERT INTO java.t VALUES (?, ?)";
            try (PreparedStatement statement = connection.prepareStatement(insert)) {
                for (int id = 0; id < 1000; id++) {
                    statement.setInt(1, id);
                    statement.setString(2, "x".repeat(id * 5));
                    statement.addBatch();
                }
                statement.executeBatch();
            }
            connection.commit();
            print(connection, "SELECT CONCAT(COUNT(*), ' rows of ', SUM(LENGTH(body)), ' bytes') FROM java.t", 1);
            print(connection, "SELECT LENGTH(REPEAT('y', 9000000))", 1);
            print(connection, "SHOW STATUS LIKE 'Ssl_version'", 2);
        }
        try (Connection connection = DriverManager.getConnection(url, arguments[2], "wrong")) {
            System.out.println("let in with a wrong password");
        } catch (SQLException error) {
            System.out.println("refused with " + error.getErrorCode());
        }
    }

    private static void print(Connection connection, String sql, int column) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
            rows.next();
            System.out.println(rows.getString(column));
        }
    }
}
