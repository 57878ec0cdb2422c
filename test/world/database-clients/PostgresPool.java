import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.util.ArrayList;
import java.util.List;

/** PostgresPool URL USER COUNT: that many connections at once, on each a statement that is executed until the driver names it. Prints the sum. */
public class PostgresPool {
  public static void main(String[] args) throws Exception {
    int count = Integer.parseInt(args[2]);
    List<Connection> pool = new ArrayList<>();
    for (int i = 0; i < count; i++) pool.add(DriverManager.getConnection(args[0], args[1], ""));
    long sum = 0;
    for (Connection connection : pool) {
      try (PreparedStatement statement = connection.prepareStatement("select ?::int + 1, ?::text, ?::text")) {
        for (int turn = 1; turn <= 6; turn++) {
          statement.setInt(1, turn);
          statement.setString(2, "seven");
          statement.setString(3, null);
          try (ResultSet rows = statement.executeQuery()) {
            rows.next();
            if (!rows.getString(2).equals("seven") || rows.getString(3) != null) throw new Exception("the values are not those that were sent");
            sum += rows.getInt(1);
          }
        }
      }
    }
    System.out.println(sum + " " + pool.get(0).getMetaData().getDatabaseProductVersion());
    for (Connection connection : pool) connection.close();
  }
}
