import java.io.ByteArrayInputStream;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** ConnectorJ URL USER PASSWORD TABLE: makes the table, sends rows by statements that the server prepares, and one of long data. Prints what arrived. */
public class ConnectorJ {
  public static void main(String[] args) throws Exception {
    try (Connection connection = DriverManager.getConnection(args[0], args[1], args[2])) {
      String table = args[3];
      try (Statement plain = connection.createStatement()) {
        plain.execute("create table " + table + " (id int primary key, name varchar(20), data longblob)");
      }
      try (PreparedStatement insert = connection.prepareStatement("insert into " + table + " values (?, ?, ?)")) {
        insert.setInt(1, 1);
        insert.setString(2, "seven");
        insert.setBinaryStream(3, new ByteArrayInputStream(new byte[100_000]));
        insert.executeUpdate();
      }
      try (PreparedStatement query = connection.prepareStatement("select name, length(data) from " + table + " where id = ?")) {
        query.setInt(1, 1);
        try (ResultSet rows = query.executeQuery()) {
          rows.next();
          System.out.println(rows.getString(1) + " " + rows.getInt(2));
        }
      }
      try (Statement plain = connection.createStatement()) {
        plain.execute("select * from nowhere.nothing");
      } catch (SQLException error) {
        System.out.println(error.getErrorCode() != 0 ? "refused" : error.getMessage());
      }
    }
  }
}
