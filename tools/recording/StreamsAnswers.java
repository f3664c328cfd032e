package org.apache.kafka.streams.processor.internals;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.*;
import java.io.File;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.function.Function;
import java.util.stream.*;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.*;
import org.apache.kafka.common.message.DescribeGroupsResponseData;
import org.apache.kafka.common.protocol.*;
import org.apache.kafka.common.requests.ResponseHeader;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.*;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.processor.*;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.internals.assignment.*;
import org.apache.kafka.streams.state.HostInfo;

/** Answers the cases of a document with the classes of Kafka Streams: {id: answer}, null: not one for them. */
public class StreamsAnswers {
    static final ObjectMapper JSON = new ObjectMapper();
    static final int KEYS = 100_000;
    static final int UNKNOWN = -1;
    static final TypeReference<Map<String, List<String>>> LISTS = new TypeReference<>() { };
    static final Map<HostInfo, String> names = new HashMap<>();
    static JsonNode fixture;

    public static void main(String[] arguments) throws Exception {
        JsonNode document = JSON.readTree(new File(arguments[0]));
        fixture = document.path("fixture");
        fixture.path("hosts").fieldNames().forEachRemaining(name -> names.put(host(name), name));
        Map<String, Object> answers = new LinkedHashMap<>();
        for (JsonNode one : document.get("cases")) {
            answers.put(one.get("id").asText(), switch (one.get("kind").asText()) {
                case "subscription_user_data" -> subscription(one.get("expected"));
                case "assignment_user_data" -> assignment(one.get("expected"));
                case "commit_metadata" -> commit(one.get("expected"));
                case "murmur2" -> murmur2(one);
                case "misroute_share" -> misrouted(one);
                case "streams_metadata_state" -> metadata(one);
                case "describe_groups" -> group(one);
                default -> null;
            });
        }
        JSON.writeValue(new File(arguments[1]), answers);
    }

    static Object subscription(JsonNode fields) {
        Map<TaskId, Long> sums = new LinkedHashMap<>();
        fields.path("task_offset_sums").forEach(one -> sums.put(task(one), one.get("offset_sum").asLong()));
        fields.path("prev_tasks").forEach(one -> sums.put(task(one), Task.LATEST_OFFSET));
        fields.path("standby_tasks").forEach(one -> sums.put(task(one), 0L));
        SubscriptionInfo written = new SubscriptionInfo(
            fields.get("version").asInt(), fields.get("latest_supported_version").asInt(UNKNOWN),
            new ProcessId(UUID.fromString(fields.get("process_id").asText())), fields.get("user_endpoint").asText(""), sums,
            (byte) fields.get("unique_field").asInt(), fields.get("error_code").asInt(),
            JSON.convertValue(fields.get("client_tags"), new TypeReference<>() { }));
        return encoded(written, written.encode(), SubscriptionInfo::decode);
    }

    static Object assignment(JsonNode fields) {
        Map<TaskId, Set<TopicPartition>> standby = new LinkedHashMap<>();
        fields.get("standby").forEach(one -> standby.put(task(one.get("task")), places(one.get("partitions"))));
        AssignmentInfo written = new AssignmentInfo(
            fields.get("version").asInt(), fields.get("commonly_supported_version").asInt(UNKNOWN),
            stream(fields.get("active")).map(StreamsAnswers::task).toList(), standby,
            hosts(fields.get("active_by_host")), hosts(fields.get("standby_by_host")), fields.get("error_code").asInt());
        written.setNextRebalanceTime(fields.get("next_rebalance_ms").asLong(Long.MAX_VALUE));
        return encoded(written, written.encode(), AssignmentInfo::decode);
    }

    /** What Kafka reads from the bytes must be what they were made of. */
    static Object encoded(Object written, ByteBuffer encoded, Function<ByteBuffer, Object> decode) {
        byte[] bytes = Utils.toArray(encoded);
        check(written, decode.apply(ByteBuffer.wrap(bytes)));
        return Map.of("length", bytes.length, "hex", hex(bytes));
    }

    static void check(Object written, Object read) {
        if (!read.equals(written)) {
            throw new IllegalStateException("written " + written + ", read " + read);
        }
    }

    static Object commit(JsonNode fields) {
        TopicPartitionMetadata written = new TopicPartitionMetadata(fields.get("stream_time_ms").asLong(RecordQueue.UNKNOWN),
            new ProcessorMetadata(JSON.convertValue(fields.get("emitted_window_close_ms"), new TypeReference<>() { })));
        String text = written.encode();
        check(written, TopicPartitionMetadata.decode(text));
        return Map.of("base64", text, "hex", hex(Base64.getDecoder().decode(text)));
    }

    static Object murmur2(JsonNode one) {
        byte[] key = HexFormat.of().parseHex(one.get("key_hex").asText());
        return Map.of("expected", ordered("hash", Utils.murmur2(key),
            "partition_of_7", partition(key, 7), "partition_of_12", partition(key, 12)));
    }

    /** Per cent of the keys cust-000 to cust-99999 that another number of partitions puts elsewhere. */
    static Object misrouted(JsonNode one) {
        int from = one.get("from_partitions").asInt(), to = one.get("to_partitions").asInt();
        long wrong = IntStream.range(0, KEYS).mapToObj(number -> String.format("cust-%03d", number).getBytes(StandardCharsets.UTF_8))
            .filter(key -> partition(key, from) != partition(key, to)).count();
        return Map.of("expected_percent", Math.round(1000.0 * wrong / KEYS) / 10.0);
    }

    static int partition(byte[] key, int partitions) {
        return Utils.toPositive(Utils.murmur2(key)) % partitions;
    }

    /** The only group of a captured answer to DescribeGroups, with what its members told each other. */
    static Object group(JsonNode one) {
        short version = one.get("version").shortValue();
        ByteBuffer answer = ByteBuffer.wrap(HexFormat.of().parseHex(one.get("response_hex").asText()));
        ResponseHeader.parse(answer, ApiKeys.DESCRIBE_GROUPS.responseHeaderVersion(version));
        var group = new DescribeGroupsResponseData(new ByteBufferAccessor(answer), version).groups().get(0);
        return ordered("state", group.groupState(), "protocol_type", group.protocolType(), "protocol", group.protocolData(),
            "members", group.members().stream().map(StreamsAnswers::member).toList());
    }

    static Object member(DescribeGroupsResponseData.DescribedGroupMember one) {
        var wants = ConsumerProtocol.deserializeConsumerProtocolSubscription(ByteBuffer.wrap(one.memberMetadata()));
        var given = ConsumerProtocol.deserializeConsumerProtocolAssignment(ByteBuffer.wrap(one.memberAssignment()));
        return ordered("member_id", one.memberId(), "group_instance_id", one.groupInstanceId(),
            "client_id", one.clientId(), "client_host", one.clientHost(),
            "member_metadata_hex", hex(one.memberMetadata()), "member_assignment_hex", hex(one.memberAssignment()),
            "subscription", ordered("version", one.memberMetadata()[1], "topics", wants.topics(), "user_data_hex",
                hex(Utils.toArray(wants.userData())), "generation_id", wants.generationId(), "rack_id", wants.rackId()),
            "assignment", ordered("version", one.memberAssignment()[1], "user_data_hex", hex(Utils.toArray(given.userData())), "assigned",
                given.assignedPartitions().stream().map(topic -> List.of(topic.topic(), topic.partitions())).toList()));
    }

    static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }

    static Object metadata(JsonNode one) throws Exception {
        String special = one.path("state").asText();
        if (special.startsWith("list taken")) {
            return null;
        }
        StreamsMetadataState state = new StreamsMetadataState(
            topology(), special.startsWith("this unknown") ? StreamsMetadataState.UNKNOWN_HOST : host("h1"), new LogContext());
        JsonNode change = one.path("change");
        Map<TopicPartition, PartitionInfo> known = new LinkedHashMap<>();
        changed("known_partitions", change).forEach((topic, numbers) -> numbers.forEach(number -> known.put(
            place(topic + "-" + number), new PartitionInfo(topic, Integer.parseInt(number), null, null, null))));
        if (special.equals("empty assignment") || special.endsWith("alone at first")) {
            state.onChange(Map.of(), Map.of(), Map.of());
        }
        if (!special.equals("empty assignment") && !special.equals("never assigned")) {
            state.onChange(assigned("active", change), assigned("standby", change), known);
        }
        try {
            return ordered("expected", answer(state, one.get("call")));
        } catch (NullPointerException | IllegalArgumentException refused) {
            return Map.of("expected", Map.of("error", true));
        }
    }

    static Object answer(StreamsMetadataState state, JsonNode call) {
        String store = call.path("store").textValue(), key = call.path("key").textValue();
        switch (call.get("fn").asText()) {
            case "all":
                Map<String, Object> all = new TreeMap<>();
                state.allMetadata().forEach(one -> all.put(names.get(one.hostInfo()), stores(one)));
                return all;
            case "local":
                StreamsMetadata local = state.getLocalMetadata();
                Map<String, Object> found = ordered("host", names.get(local.hostInfo()),
                    "partitions", sorted(local.topicPartitions(), TopicPartition::toString));
                found.putAll(stores(local));
                return found;
            case "for_store":
                return sorted(state.allMetadataForStore(store), one -> names.get(one.hostInfo()));
            default:
                StreamPartitioner<String, Object> chosen = (topic, record, value, partitions) ->
                    Optional.of(stream(call.get("partitioner_returns")).map(JsonNode::asInt).collect(Collectors.toSet()));
                KeyQueryMetadata where = call.has("partitioner_returns") ? state.keyQueryMetadataForKey(store, key, chosen)
                    : state.keyQueryMetadataForKey(store, key, call.has("serializer") ? null : new StringSerializer());
                return where == null ? null : where.equals(KeyQueryMetadata.NOT_AVAILABLE) ? "NOT_AVAILABLE" : ordered(
                    "active", names.get(where.activeHost()), "standby", sorted(where.standbyHosts(), names::get),
                    "partition", where.partition());
        }
    }

    static TopologyMetadata topology() throws Exception {
        StreamsBuilder builder = new StreamsBuilder();
        JsonNode none = JSON.createObjectNode();
        Map<String, KStream<Object, Object>> streams = new LinkedHashMap<>();
        changed("known_partitions", none).keySet().forEach(topic -> streams.put(topic, builder.stream(topic)));
        changed("stores", none).forEach((store, topics) -> topics.stream().map(streams::get)
            .reduce(KStream::merge).orElseThrow().groupByKey().count(Materialized.as(store)));
        fixture.get("global_stores").forEach(store -> builder.globalTable("topic-of-" + store.asText(), Materialized.as(store.asText())));
        Field inner = Topology.class.getDeclaredField("internalTopologyBuilder");
        inner.setAccessible(true);
        TopologyMetadata found = new TopologyMetadata((InternalTopologyBuilder) inner.get(builder.build()),
            new StreamsConfig(Map.of("application.id", "app", "bootstrap.servers", "localhost:9092")));
        found.buildAndRewriteTopology();
        return found;
    }

    static Map<String, List<String>> changed(String name, JsonNode change) {
        Map<String, List<String>> found = JSON.convertValue(fixture.get(name), LISTS);
        found.putAll(change.has(name) ? JSON.convertValue(change.get(name), LISTS) : Map.of());
        return found;
    }

    static Map<HostInfo, Set<TopicPartition>> assigned(String role, JsonNode change) {
        Map<HostInfo, Set<TopicPartition>> found = new LinkedHashMap<>();
        changed(role, change).forEach((name, places) -> found.put(
            host(name), places.stream().map(StreamsAnswers::place).collect(Collectors.toSet())));
        return found;
    }

    static TopicPartition place(String text) {
        int dash = text.lastIndexOf('-');
        return new TopicPartition(text.substring(0, dash), Integer.parseInt(text.substring(dash + 1)));
    }

    static <T> List<String> sorted(Collection<T> all, Function<T, String> name) {
        return all.stream().map(name).sorted().toList();
    }

    static HostInfo host(String name) {
        return HostInfo.buildFromEndpoint(fixture.get("hosts").get(name).asText());
    }

    static Map<String, Object> stores(StreamsMetadata one) {
        return ordered("stores", new TreeSet<>(one.stateStoreNames()), "standby_stores", new TreeSet<>(one.standbyStateStoreNames()));
    }

    static TaskId task(JsonNode one) {
        return new TaskId(one.get("subtopology").asInt(), one.get("partition").asInt(), one.get("named_topology").textValue());
    }

    static Set<TopicPartition> places(JsonNode partitions) {
        return stream(partitions).map(one -> new TopicPartition(one.get("topic").asText(), one.get("partition").asInt()))
            .collect(Collectors.toCollection(LinkedHashSet::new));
    }

    static Map<HostInfo, Set<TopicPartition>> hosts(JsonNode hosts) {
        Map<HostInfo, Set<TopicPartition>> found = new LinkedHashMap<>();
        hosts.forEach(one -> found.put(
            new HostInfo(one.get("host").asText(), one.get("port").asInt()), places(one.get("partitions"))));
        return found;
    }

    static Map<String, Object> ordered(Object... pairs) {
        Map<String, Object> found = new LinkedHashMap<>();
        for (int at = 0; at < pairs.length; at += 2) {
            found.put((String) pairs[at], pairs[at + 1]);
        }
        return found;
    }

    static Stream<JsonNode> stream(JsonNode list) {
        return StreamSupport.stream(list.spliterator(), false);
    }
}
