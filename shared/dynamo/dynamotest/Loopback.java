import java.lang.reflect.Field;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import software.amazon.dynamodb.services.local.main.ServerRunner;
import software.amazon.dynamodb.services.local.server.DynamoDBProxyServer;

/**
 * Runs DynamoDB Local on the loopback interface only: by itself it listens on all of them. It
 * takes a free port, whatever its arguments, DynamoDB Local's own, say. The address is its last line.
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
