import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayInputStream;
import java.io.File;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.clients.ClientUtils;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.connect.mirror.MirrorMakerConfig;
import org.apache.kafka.connect.mirror.ReplicationPolicy;
import org.apache.kafka.connect.mirror.SourceAndTarget;

/** What MirrorMaker 2 makes of texts of mm2.properties: AskMirrorConfig QUESTIONS ANSWERS, two JSON files. */
public class AskMirrorConfig {
    private static final String PACKAGE = "org.apache.kafka.connect.mirror.";
    private static final List<String> ADDRESSES = List.of(
        "localhost:9092", "PLAINTEXT://localhost:9092", "localhost:9092, localhost:9093", "[::1]:9092", "::1:9092",
        "127.0.0.1:9092", "=localhost:9092", "localhost", "localhost:", "localhost:port", "localhost:99999", "[::1]",
        "localhost:9092,,localhost:9093", "localhost:9092,", "localhost:9092;localhost:9093", "localhost:9092/",
        "localhost: 9092", "localhost:-1", "${HOST}:9092", "fe80::1", "SSL:localhost:9093", "*:9092", "");
    private static final List<String> KINDS = List.of("Source", "Checkpoint", "Heartbeat");

    public static void main(String[] files) throws Exception {
        ObjectMapper json = new ObjectMapper();
        List<Object> answers = new ArrayList<>();
        for (String text : json.readValue(new File(files[0]), String[].class)) {
            answers.add(answer(text));
        }
        Map<String, Object> told = Map.of("files", answers, "defaults", defaults(), "top", top(), "addresses", addresses(),
            "filter", defaults("DefaultConfigPropertyFilter$ConfigPropertyFilterConfig", "DEF"));
        json.writeValue(new File(files[1]), told);
    }

    private static Map<String, Object> answer(String text) throws Exception {
        Properties properties = new Properties();
        properties.load(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
        Map<String, String> settings = new HashMap<>();
        properties.forEach((key, value) -> settings.put((String) key, (String) value));
        // Looking for plugins in every jar takes seconds, and is not what is asked.
        Map<String, String> given = new HashMap<>(settings);
        given.put("plugin.discovery", "service_load");
        MirrorMakerConfig config = new MirrorMakerConfig(given);
        Map<String, Object> connectors = new TreeMap<>();
        Map<String, Object> workers = new TreeMap<>();
        Map<String, Object> names = new TreeMap<>();
        List<String> pairs = new ArrayList<>();
        for (SourceAndTarget pair : config.clusterPairs()) {
            pairs.add(pair.toString());
            workers.put(pair.toString(), call(config, "workerConfig", pair));
            for (String kind : KINDS) {
                Class<?> connector = Class.forName(PACKAGE + "Mirror" + kind + "Connector");
                connectors.put(pair + " " + kind, call(config, "connectorBaseConfig", pair, connector));
            }
            names.put(pair.toString(), names(connectors.get(pair + " Source"), connectors.get(pair + " Checkpoint")));
        }
        Map<String, Object> found = new TreeMap<>();
        found.put("settings", settings);
        found.put("pairs", pairs);
        found.put("connectors", connectors);
        found.put("workers", workers);
        found.put("names", names);
        return found;
    }

    /** What the connectors read of their configurations; null where they refuse them. */
    private static Map<String, Object> names(Object source, Object checkpoint) throws Exception {
        Object copying;
        Object checking;
        try {
            copying = read("MirrorSourceConfig", source);
            checking = read("MirrorCheckpointConfig", checkpoint);
        } catch (InvocationTargetException refused) {
            return null;
        }
        ReplicationPolicy policy = (ReplicationPolicy) call(copying, "replicationPolicy");
        Map<String, Object> found = new TreeMap<>();
        found.put("enabled", call(copying, "enabled"));
        found.put("remote", policy.formatRemoteTopic((String) call(copying, "sourceClusterAlias"), "orders"));
        found.put("syncs", call(copying, "offsetSyncsTopic"));
        found.put("checkpoints", call(checking, "checkpointsTopic"));
        return found;
    }

    private static Object read(String type, Object settings) throws Exception {
        Constructor<?> constructor = Class.forName(PACKAGE + type).getDeclaredConstructor(Map.class);
        constructor.setAccessible(true);
        return constructor.newInstance(settings);
    }

    /** Whether Kafka's clients take each of these addresses. */
    private static Map<String, Object> addresses() {
        Map<String, Object> found = new TreeMap<>();
        for (String address : ADDRESSES) {
            try {
                ClientUtils.parseAndValidateAddresses(new AdminClientConfig(Map.of("bootstrap.servers", address)));
                found.put(address, true);
            } catch (ConfigException refused) {
                found.put(address, false);
            }
        }
        return found;
    }

    private static Object call(Object target, String name, Object... arguments) throws Exception {
        for (Class<?> type = target.getClass(); type != null; type = type.getSuperclass()) {
            for (Method method : type.getDeclaredMethods()) {
                if (method.getName().equals(name) && method.getParameterCount() == arguments.length) {
                    method.setAccessible(true);
                    return method.invoke(target, arguments);
                }
            }
        }
        throw new NoSuchMethodException(name);
    }

    private static Map<String, Object> defaults() throws Exception {
        Map<String, Object> found = new TreeMap<>();
        for (String kind : KINDS) {
            found.put(kind, defaults("Mirror" + kind + "Config", "CONNECTOR_CONFIG_DEF"));
        }
        return found;
    }

    private static Map<String, Object> defaults(String type, String name) throws Exception {
        Field field = Class.forName(PACKAGE + type).getDeclaredField(name);
        field.setAccessible(true);
        Map<String, Object> values = new TreeMap<>();
        for (ConfigDef.ConfigKey key : ((ConfigDef) field.get(null)).configKeys().values()) {
            values.put(key.name, text(key.defaultValue));
        }
        return values;
    }

    private static Map<String, Object> top() {
        Map<String, Object> values = new TreeMap<>();
        new MirrorMakerConfig(Map.of("clusters", "A, B")).values().forEach((key, value) -> values.put(key, text(value)));
        return values;
    }

    private static String text(Object value) {
        if (value == null || value == ConfigDef.NO_DEFAULT_VALUE) {
            return null;
        }
        if (value instanceof List<?> list) {
            return String.join(", ", list.stream().map(AskMirrorConfig::text).toList());
        }
        return value instanceof Class<?> type ? type.getName() : String.valueOf(value);
    }
}
