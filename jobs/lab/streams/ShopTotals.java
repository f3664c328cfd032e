import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.*;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.state.HostInfo;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.apache.kafka.streams.state.WindowStore;
import org.rocksdb.Options;

/**
 * The shop's totals as a Kafka Streams application: ShopTotals SETTINGS.properties.
 *
 * Settings are those of Kafka Streams and five of its own: shop.door (a file into which the port of the door is
 * written), shop.prefix (before the names of its topics), shop.products (partitions of that repartition topic),
 * shop.regions (true: also a global table), shop.merged (topics, and patterns behind a ~, with spaces between:
 * only the number of their records by key, without a repartition topic). An application.server with port 0 gets the port of the door.
 * The door is HTTP on the loopback: GET /state, GET /topology, POST /inside with a JSON list of keys.
 */
public class ShopTotals {
    static final String TOTALS = "totals-by-customer";
    static final String CUSTOMERS = "customers";
    static final String PER_MINUTE = "orders-per-minute";
    static final Duration CLOSING = Duration.ofSeconds(20);
    static final ObjectMapper JSON = new ObjectMapper();

    final Properties settings;
    final Topology topology;
    final HttpServer door;
    final KafkaStreams streams;

    ShopTotals(Properties settings) throws IOException {
        this.settings = settings;
        door = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        String server = settings.getProperty("application.server");
        if (server != null && server.endsWith(":0")) {
            settings.setProperty("application.server", server.replaceAll("0$", "" + door.getAddress().getPort()));
        }
        topology = shop(settings);
        Properties own = new Properties();
        settings.stringPropertyNames().stream().filter(name -> !name.startsWith("shop."))
            .forEach(name -> own.setProperty(name, settings.getProperty(name)));
        own.put("rocksdb.config.setter", SmallRocksDb.class);
        streams = new KafkaStreams(topology, own);
    }

    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        try (InputStream file = Files.newInputStream(Path.of(arguments[0]))) {
            settings.load(file);
        }
        if ("streams".equals(settings.getProperty("group.protocol"))) {
            setStandbysOfGroup(settings);
        }
        new ShopTotals(settings).run();
    }

    /** In a streams group the coordinator gives out standbys: their number is a setting of the group. */
    static void setStandbysOfGroup(Properties settings) throws Exception {
        ConfigEntry standbys = new ConfigEntry(
            "streams.num.standby.replicas", settings.getProperty("num.standby.replicas", "0"));
        ConfigResource group = new ConfigResource(
            ConfigResource.Type.valueOf("GROUP"), settings.getProperty("application.id"));
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", settings.getProperty("bootstrap.servers")))) {
            AlterConfigOp set = new AlterConfigOp(standbys, AlterConfigOp.OpType.SET);
            admin.incrementalAlterConfigs(Map.of(group, List.of(set))).all().get();
        }
    }

    static Topology merged(String sources) {
        Serde<String> text = Serdes.String();
        StreamsBuilder builder = new StreamsBuilder();
        Consumed<String, String> asText = Consumed.with(text, text);
        Arrays.stream(sources.split(" "))
            .map(one -> one.startsWith("~") ? builder.stream(Pattern.compile(one.substring(1)), asText)
                : builder.stream(one, asText))
            .reduce(KStream::merge).orElseThrow().groupByKey(Grouped.with(text, text)).count(
                Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as(TOTALS).withCachingDisabled());
        return builder.build();
    }

    static Topology shop(Properties settings) {
        if (!settings.getProperty("shop.merged", "").isEmpty()) {
            return merged(settings.getProperty("shop.merged"));
        }
        String prefix = settings.getProperty("shop.prefix", "");
        int products = Integer.parseInt(settings.getProperty("shop.products"));
        Serde<String> text = Serdes.String();
        StreamsBuilder builder = new StreamsBuilder();
        Consumed<String, String> asText = Consumed.with(text, text);
        KStream<String, String> orders = builder.stream(prefix + "orders", asText);
        KStream<String, String> byCustomer = orders.selectKey((customer, order) -> customer)
            .repartition(Repartitioned.with(text, text).withName("by-customer"));
        KStream<String, String> byProduct = orders.selectKey((customer, order) -> field(order, "product").asText("none"))
            .repartition(Repartitioned.with(text, text).withName("by-product").withNumberOfPartitions(products));
        byCustomer.groupByKey(Grouped.with(text, text)).aggregate(
            () -> 0L, (customer, order, sum) -> sum + field(order, "total").asLong(),
            Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as(TOTALS).withKeySerde(text).withValueSerde(Serdes.Long()));
        KTable<String, String> customers = builder.table(
            prefix + "customers", asText, Materialized.as(CUSTOMERS));
        byCustomer.join(customers, (order, customer) -> order + customer, Joined.with(text, text, text))
            .to(prefix + "orders-enriched", Produced.with(text, text));
        // With a cache the first look for closed windows would try every minute since 1970.
        byProduct.groupByKey(Grouped.with(text, text))
            .windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofSeconds(60), Duration.ofSeconds(10)))
            .emitStrategy(EmitStrategy.onWindowClose())
            .count(Materialized.<String, Long, WindowStore<Bytes, byte[]>>as(PER_MINUTE).withCachingDisabled())
            .toStream().selectKey((window, count) -> window.key() + "@" + window.window().start())
            .to(prefix + "orders-per-minute-out", Produced.with(text, Serdes.Long()));
        if (Boolean.parseBoolean(settings.getProperty("shop.regions"))) {
            builder.globalTable(prefix + "regions", asText, Materialized.as("regions"));
        }
        return builder.build();
    }

    /** Whatever an order is: without the field, or no JSON at all, nothing is there. */
    static JsonNode field(String order, String name) {
        try {
            return JSON.readTree(order).path(name);
        } catch (IOException | IllegalArgumentException error) {
            return JSON.createObjectNode().path(name);
        }
    }

    void run() throws IOException {
        Runtime.getRuntime().addShutdownHook(new Thread(this::close));
        door.createContext("/state", asked -> answer(asked, streams.state().name()));
        door.createContext("/topology", asked -> answer(asked, topology.describe().toString()));
        door.createContext("/inside", this::answerInside);
        door.start();
        streams.start();
        Path file = Path.of(settings.getProperty("shop.door"));
        Path partial = file.resolveSibling(file.getFileName() + ".partial");
        Files.writeString(partial, "" + door.getAddress().getPort());
        Files.move(partial, file, StandardCopyOption.ATOMIC_MOVE);
    }

    /** Closes and leaves the group; before Kafka 4.1 there is no such option, and a classic member stays. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    void close() {
        try {
            Class<?> kind = Class.forName("org.apache.kafka.streams.CloseOptions");
            Class operation = Class.forName(kind.getName() + "$GroupMembershipOperation");
            Object options = kind.getMethod("timeout", Duration.class).invoke(null, CLOSING);
            kind.getMethod("withGroupMembershipOperation", operation)
                .invoke(options, Enum.valueOf(operation, "LEAVE_GROUP"));
            KafkaStreams.class.getMethod("close", kind).invoke(streams, options);
        } catch (ReflectiveOperationException older) {
            streams.close(CLOSING);
        }
    }

    void answerInside(HttpExchange asked) throws IOException {
        List<?> keys = JSON.readValue(asked.getRequestBody(), List.class);
        answer(asked, JSON.writeValueAsString(inside(keys.stream().map(Object::toString).toList())));
    }

    static void answer(HttpExchange asked, String text) throws IOException {
        try (asked) {
            byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
            asked.sendResponseHeaders(200, bytes.length);
            asked.getResponseBody().write(bytes);
        }
    }

    /** What the application says of itself; null where it cannot say anything now. */
    Map<String, Object> inside(List<String> keys) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("ts", System.currentTimeMillis());
        found.put("state", streams.state().name());
        found.put("applicationId", settings.getProperty("application.id"));
        found.put("applicationServer", settings.getProperty("application.server"));
        found.put("metadataForAllStreamsClients", orNull(() -> streams.metadataForAllStreamsClients().stream()
            .map(ShopTotals::host).sorted(Comparator.comparing(one -> (String) one.get("host"))).toList()));
        Map<String, Object> stores = new LinkedHashMap<>();
        String described = topology.describe().toString();
        for (String store : List.of(TOTALS, CUSTOMERS, PER_MINUTE).stream().filter(described::contains).toList()) {
            stores.put(store, orNull(() -> sorted(
                streams.streamsMetadataForStore(store).stream().map(one -> name(one.hostInfo())))));
        }
        found.put("streamsMetadataForStore", stores);
        found.put("metadataForLocalThreads", orNull(() -> streams.metadataForLocalThreads().stream()
            .map(ShopTotals::thread).sorted(Comparator.comparing(one -> (String) one.get("name"))).toList()));
        found.put("allLocalStorePartitionLags", orNull(this::lags));
        found.put("queryMetadataForKey", orNull(() -> each(keys, this::whereIs)));
        found.put("localGet", orNull(() -> {
            ReadOnlyKeyValueStore<String, Long> store = streams.store(
                StoreQueryParameters.fromNameAndType(TOTALS, QueryableStoreTypes.keyValueStore()));
            return each(keys, store::get);
        }));
        return found;
    }

    static Object orNull(Supplier<Object> question) {
        try {
            return question.get();
        } catch (IllegalStateException | InvalidStateStoreException error) {
            return null;
        }
    }

    Object whereIs(String key) {
        KeyQueryMetadata found = streams.queryMetadataForKey(TOTALS, key, new StringSerializer());
        return Arrays.asList(name(found.activeHost()),
            sorted(found.standbyHosts().stream().map(ShopTotals::name)), found.partition());
    }

    Map<String, Object> lags() {
        Map<String, Object> found = new TreeMap<>();
        streams.allLocalStorePartitionLags().forEach((store, partitions) -> {
            Map<Integer, Object> lags = new TreeMap<>();
            partitions.forEach((partition, lag) -> lags.put(partition,
                List.of(lag.currentOffsetPosition(), lag.endOffsetPosition(), lag.offsetLag())));
            found.put(store, lags);
        });
        return found;
    }

    /** Keys without an answer are left out. */
    static Map<String, Object> each(List<String> keys, Function<String, Object> question) {
        Map<String, Object> found = new LinkedHashMap<>();
        for (String key : keys) {
            Object answer = question.apply(key);
            if (answer != null) {
                found.put(key, answer);
            }
        }
        return found;
    }

    static Map<String, Object> host(StreamsMetadata one) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("host", name(one.hostInfo()));
        found.put("stores", sorted(one.stateStoreNames().stream()));
        found.put("topicPartitions", names(one.topicPartitions()));
        found.put("standbyStores", sorted(one.standbyStateStoreNames().stream()));
        found.put("standbyTopicPartitions", names(one.standbyTopicPartitions()));
        return found;
    }

    static Map<String, Object> thread(ThreadMetadata one) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("name", one.threadName());
        found.put("state", one.threadState());
        found.put("consumerClientId", one.consumerClientId());
        found.put("active", tasks(one.activeTasks()));
        found.put("standby", tasks(one.standbyTasks()));
        return found;
    }

    static List<Map<String, Object>> tasks(Collection<TaskMetadata> tasks) {
        return tasks.stream().sorted(Comparator.comparing(TaskMetadata::taskId)).map(task -> {
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("id", task.taskId().toString());
            one.put("topicPartitions", names(task.topicPartitions()));
            one.put("committed", offsets(task.committedOffsets()));
            one.put("end", offsets(task.endOffsets()));
            return one;
        }).toList();
    }

    static Map<String, Long> offsets(Map<TopicPartition, Long> offsets) {
        Map<String, Long> found = new TreeMap<>();
        offsets.forEach((where, offset) -> found.put(name(where), offset));
        return found;
    }

    static List<String> names(Collection<TopicPartition> partitions) {
        return sorted(partitions.stream().map(ShopTotals::name));
    }

    static List<String> sorted(Stream<String> names) {
        return names.sorted().toList();
    }

    static String name(TopicPartition where) {
        return where.topic() + ":" + where.partition();
    }

    static String name(HostInfo host) {
        return host.host() + ":" + host.port();
    }

    /** Each store would write into three buffers of 16 MB; these stores are small. */
    public static class SmallRocksDb implements RocksDBConfigSetter {
        @Override
        public void setConfig(String store, Options options, Map<String, Object> settings) {
            options.setWriteBufferSize(1 << 20);
        }

        @Override
        public void close(String store, Options options) {
        }
    }
}
