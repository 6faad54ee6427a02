import java.lang.reflect.Field;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import software.amazon.dynamodb.services.local.main.ServerRunner;
import software.amazon.dynamodb.services.local.server.DynamoDBProxyServer;

/**
 * Runs DynamoDB Local on the loopback interface. Without this class, DynamoDB Local listens on all
 * interfaces. The arguments are those of DynamoDB Local, but the port is always a free port. The last
 * line of the output is the address.
 */
public class Loopback {
  public static void main(String[] args) throws Exception {
    DynamoDBProxyServer local = ServerRunner.createServerFromCommandLineArgs(args);
    Field inside = DynamoDBProxyServer.class.getDeclaredField("server");
    inside.setAccessible(true);
    Server server = (Server) inside.get(local);
    for (Connector connector : server.getConnectors()) {
      ((ServerConnector) connector).setHost("127.0.0.1");
      ((ServerConnector) connector).setPort(0);
    }
    local.start();
    System.out.println("http://127.0.0.1:" + ((ServerConnector) server.getConnectors()[0]).getLocalPort());
    local.join();
  }
}
