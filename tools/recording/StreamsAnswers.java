package org.apache.kafka.streams.processor.internals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.stream.*;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.DescribeGroupsResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.requests.ResponseHeader;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.internals.generated.SubscriptionInfoData;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.processor.StreamPartitioner;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.internals.assignment.*;
import org.apache.kafka.streams.state.HostInfo;

/** Answers the cases of a document with the classes of Kafka Streams: {id: answer}; without the others. */
public class StreamsAnswers {
    static final ObjectMapper JSON = new ObjectMapper();
    static final int KEYS = 100_000;
    static final int UNKNOWN = -1;
    static final Comparator<Map.Entry<?, ?>> BY_NAME = Comparator.comparing(one -> one.getKey().toString());
    static JsonNode fixture;

    public static void main(String[] arguments) throws Exception {
        JsonNode document = JSON.readTree(new File(arguments[0]));
        fixture = document.path("fixture");
        Map<String, Object> answers = new LinkedHashMap<>();
        for (JsonNode one : document.get("cases")) {
            Object answer = switch (one.get("kind").asText()) {
                case "subscription_user_data" -> subscription(one.get("expected"));
                case "assignment_user_data" -> assignment(one.get("expected"));
                case "commit_metadata" -> commit(one.get("expected"));
                case "murmur2" -> murmur2(one);
                case "misroute_share" -> misrouted(one);
                case "streams_metadata_state" -> metadata(one);
                case "describe_groups" -> group(one);
                default -> null;
            };
            if (answer != null) {
                answers.put(one.get("id").asText(), answer);
            }
        }
        JSON.writeValue(new File(arguments[1]), answers);
    }

    static Object subscription(JsonNode fields) {
        int version = fields.get("version").asInt();
        Map<TaskId, Long> sums = new LinkedHashMap<>();
        fields.path("task_offset_sums").forEach(one -> sums.put(task(one), one.get("offset_sum").asLong()));
        fields.path("prev_tasks").forEach(one -> sums.put(task(one), Task.LATEST_OFFSET));
        fields.path("standby_tasks").forEach(one -> sums.put(task(one), 0L));
        Map<String, String> tags = new LinkedHashMap<>();
        fields.get("client_tags").fields().forEachRemaining(one -> tags.put(one.getKey(), one.getValue().asText()));
        byte[] bytes = Utils.toArray(new SubscriptionInfo(version, fields.get("latest_supported_version").asInt(UNKNOWN),
            new ProcessId(UUID.fromString(fields.get("process_id").asText())), fields.get("user_endpoint").asText(""), sums,
            (byte) fields.get("unique_field").asInt(), fields.get("error_code").asInt(), tags).encode());
        SubscriptionInfo read = SubscriptionInfo.decode(ByteBuffer.wrap(bytes));
        byte unique = new SubscriptionInfoData(new ByteBufferAccessor(ByteBuffer.wrap(bytes)), (short) version).uniqueField();
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("version", read.version());
        found.put("latest_supported_version", version < 3 ? null : read.latestSupportedVersion());
        found.put("process_id", read.processId().id().toString());
        found.put("user_endpoint", read.userEndPoint() == null || read.userEndPoint().isEmpty() ? null : read.userEndPoint());
        if (version < 7) {
            found.put("prev_tasks", read.prevTasks().stream().sorted().map(StreamsAnswers::fields).toList());
            found.put("standby_tasks", read.standbyTasks().stream().sorted().map(StreamsAnswers::fields).toList());
        } else {
            found.put("task_offset_sums", read.taskOffsetSums().entrySet().stream().sorted(BY_NAME).map(one -> {
                Map<String, Object> sum = fields(one.getKey());
                sum.put("offset_sum", one.getValue());
                return sum;
            }).toList());
        }
        found.put("unique_field", version < 8 ? null : unique);
        found.put("error_code", version < 9 ? null : read.errorCode());
        found.put("client_tags", version < 11 ? null : read.clientTags());
        return encoded(bytes, found);
    }

    static Object assignment(JsonNode fields) {
        int version = fields.get("version").asInt();
        Map<TaskId, Set<TopicPartition>> standby = new LinkedHashMap<>();
        fields.get("standby").forEach(one -> standby.put(task(one.get("task")), places(one.get("partitions"))));
        AssignmentInfo written = new AssignmentInfo(version, fields.get("commonly_supported_version").asInt(UNKNOWN),
            stream(fields.get("active")).map(StreamsAnswers::task).toList(), standby,
            hosts(fields.get("active_by_host")), hosts(fields.get("standby_by_host")), fields.get("error_code").asInt());
        if (fields.get("next_rebalance_ms").isNumber()) {
            written.setNextRebalanceTime(fields.get("next_rebalance_ms").asLong());
        }
        byte[] bytes = Utils.toArray(written.encode());
        AssignmentInfo read = AssignmentInfo.decode(ByteBuffer.wrap(bytes));
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("version", read.version());
        found.put("commonly_supported_version", version < 3 ? null : read.commonlySupportedVersion());
        found.put("active", read.activeTasks().stream().map(StreamsAnswers::fields).toList());
        found.put("standby", read.standbyTasks().entrySet().stream().sorted(BY_NAME).map(one ->
            ordered("task", fields(one.getKey()), "partitions", fields(one.getValue()))).toList());
        found.put("active_by_host", fields(read.partitionsByHost()));
        found.put("standby_by_host", fields(read.standbyPartitionByHost()));
        found.put("error_code", read.errCode());
        found.put("next_rebalance_ms", version < 7 ? null : read.nextRebalanceMs());
        return encoded(bytes, found);
    }

    static Object commit(JsonNode fields) {
        Map<String, Long> closed = new LinkedHashMap<>();
        fields.get("emitted_window_close_ms").fields().forEachRemaining(one -> closed.put(one.getKey(), one.getValue().asLong()));
        String text = new TopicPartitionMetadata(
            fields.get("stream_time_ms").asLong(RecordQueue.UNKNOWN), new ProcessorMetadata(closed)).encode();
        TopicPartitionMetadata read = TopicPartitionMetadata.decode(text);
        closed.replaceAll((store, time) -> read.processorMetadata().get(store));
        return ordered("base64", text, "hex", hex(Base64.getDecoder().decode(text)), "expected", ordered(
            "stream_time_ms", read.partitionTime() == RecordQueue.UNKNOWN ? null : read.partitionTime(), "emitted_window_close_ms", closed));
    }

    static Object murmur2(JsonNode one) {
        byte[] key = HexFormat.of().parseHex(one.get("key_hex").asText());
        Map<String, Object> found = ordered("hash", Utils.murmur2(key));
        for (int partitions : new int[] {7, 12}) {
            found.put("partition_of_" + partitions, partition(key, partitions));
        }
        return ordered("expected", found);
    }

    /** Per cent of the keys cust-000 to cust-99999 that another number of partitions puts elsewhere. */
    static Object misrouted(JsonNode one) {
        int from = one.get("from_partitions").asInt(), to = one.get("to_partitions").asInt();
        long wrong = IntStream.range(0, KEYS).mapToObj(number -> String.format("cust-%03d", number).getBytes(StandardCharsets.UTF_8))
            .filter(key -> partition(key, from) != partition(key, to)).count();
        return ordered("expected_percent", Math.round(1000.0 * wrong / KEYS) / 10.0);
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
        StreamsMetadataState state = new StreamsMetadataState(
            topology(), special.startsWith("this unknown") ? StreamsMetadataState.UNKNOWN_HOST : host("h1"), new LogContext());
        JsonNode change = one.path("change");
        Map<TopicPartition, PartitionInfo> known = new LinkedHashMap<>();
        changed("known_partitions", change).forEach((topic, numbers) -> numbers.forEach(number -> known.put(
            new TopicPartition(topic, number.asInt()),
            new PartitionInfo(topic, number.asInt(), Node.noNode(), new Node[0], new Node[0]))));
        if (special.equals("empty assignment") || special.endsWith("alone at first")) {
            state.onChange(Map.of(), Map.of(), Map.of());
        }
        if (!special.equals("empty assignment") && !special.equals("never assigned")) {
            state.onChange(assigned("active", change), assigned("standby", change), known);
        }
        try {
            Object found = answer(state, one.get("call"));
            if (special.startsWith("list taken")) {
                Collection<StreamsMetadata> taken = state.allMetadata();
                List<StreamsMetadata> before = List.copyOf(taken);
                state.onChange(Map.of(), Map.of(), Map.of());
                found = before.equals(List.copyOf(taken)) ? one.get("expected").asText() : "the list taken before changed";
            } else if (found instanceof Map<?, ?> where && special.startsWith("this unknown") && names().containsValue(where.get("active"))) {
                found = ordered("active", "any of " + String.join(", ", names().values()));
            }
            return ordered("expected", found);
        } catch (NullPointerException | IllegalArgumentException refused) {
            return ordered("expected", ordered("error", true));
        }
    }

    static Object answer(StreamsMetadataState state, JsonNode call) {
        String store = call.path("store").textValue(), key = call.path("key").textValue();
        switch (call.get("fn").asText()) {
            case "all":
                return state.allMetadata().stream().sorted(Comparator.comparing(one -> name(one.hostInfo()))).collect(Collectors.toMap(
                    one -> name(one.hostInfo()), StreamsAnswers::stores, (a, b) -> a, LinkedHashMap::new));
            case "local":
                Map<String, Object> found = ordered("host", name(state.getLocalMetadata().hostInfo()), "partitions",
                    state.getLocalMetadata().topicPartitions().stream().map(TopicPartition::toString).sorted().toList());
                found.putAll(stores(state.getLocalMetadata()));
                return found;
            case "for_store":
                return state.allMetadataForStore(store).stream().map(one -> name(one.hostInfo())).sorted().toList();
            default:
                StreamPartitioner<String, Object> chosen = (topic, record, value, partitions) ->
                    Optional.of(stream(call.get("partitioner_returns")).map(JsonNode::asInt).collect(Collectors.toSet()));
                KeyQueryMetadata where = call.has("partitioner_returns") ? state.keyQueryMetadataForKey(store, key, chosen)
                    : state.keyQueryMetadataForKey(store, key, call.has("serializer") ? null : new StringSerializer());
                return where == null ? null : where.equals(KeyQueryMetadata.NOT_AVAILABLE) ? "NOT_AVAILABLE" : ordered(
                    "active", name(where.activeHost()),
                    "standby", where.standbyHosts().stream().map(StreamsAnswers::name).sorted().toList(),
                    "partition", where.partition());
        }
    }

    static TopologyMetadata topology() throws Exception {
        StreamsBuilder builder = new StreamsBuilder();
        Map<String, KStream<Object, Object>> streams = new LinkedHashMap<>();
        changed("known_partitions", JSON.createObjectNode()).keySet().forEach(topic -> streams.put(topic, builder.stream(topic)));
        fixture.get("stores").fields().forEachRemaining(store -> stream(store.getValue()).map(topic -> streams.get(topic.asText()))
            .reduce(KStream::merge).orElseThrow().groupByKey().count(Materialized.as(store.getKey())));
        fixture.get("global_stores").forEach(store -> builder.globalTable("topic-of-" + store.asText(), Materialized.as(store.asText())));
        Field inner = Topology.class.getDeclaredField("internalTopologyBuilder");
        inner.setAccessible(true);
        TopologyMetadata found = new TopologyMetadata((InternalTopologyBuilder) inner.get(builder.build()),
            new StreamsConfig(Map.of("application.id", "app", "bootstrap.servers", "localhost:9092")));
        found.buildAndRewriteTopology();
        return found;
    }

    static Map<String, JsonNode> changed(String name, JsonNode change) {
        Map<String, JsonNode> found = new LinkedHashMap<>();
        fixture.get(name).fields().forEachRemaining(one -> found.put(one.getKey(), one.getValue()));
        change.path(name).fields().forEachRemaining(one -> found.put(one.getKey(), one.getValue()));
        return found;
    }

    static Map<HostInfo, Set<TopicPartition>> assigned(String role, JsonNode change) {
        Map<HostInfo, Set<TopicPartition>> found = new LinkedHashMap<>();
        changed(role, change).forEach((name, places) -> found.put(host(name), stream(places).map(JsonNode::asText).map(place -> {
            int dash = place.lastIndexOf('-');
            return new TopicPartition(place.substring(0, dash), Integer.parseInt(place.substring(dash + 1)));
        }).collect(Collectors.toSet())));
        return found;
    }

    static Map<String, String> names() {
        Map<String, String> found = new LinkedHashMap<>();
        fixture.get("hosts").fields().forEachRemaining(one -> found.put(one.getValue().asText(), one.getKey()));
        return found;
    }

    static String name(HostInfo host) {
        String place = host.host() + ":" + host.port();
        return names().getOrDefault(place, place);
    }

    static HostInfo host(String name) {
        return HostInfo.buildFromEndpoint(fixture.get("hosts").get(name).asText());
    }

    static Map<String, Object> stores(StreamsMetadata one) {
        return ordered("stores", new TreeSet<>(one.stateStoreNames()), "standby_stores", new TreeSet<>(one.standbyStateStoreNames()));
    }

    static Map<String, Object> encoded(byte[] bytes, Object fields) {
        return ordered("length", bytes.length, "hex", hex(bytes), "expected", fields);
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

    static Map<String, Object> fields(TaskId task) {
        return ordered("subtopology", task.subtopology(), "partition", task.partition(), "named_topology", task.topologyName());
    }

    static List<Map<String, Object>> fields(Set<TopicPartition> places) {
        return places.stream().sorted(Comparator.comparing(TopicPartition::toString))
            .map(one -> ordered("topic", one.topic(), "partition", one.partition())).toList();
    }

    static List<Map<String, Object>> fields(Map<HostInfo, Set<TopicPartition>> hosts) {
        return hosts.entrySet().stream().sorted(BY_NAME).map(one -> ordered(
            "host", one.getKey().host(), "port", one.getKey().port(), "partitions", fields(one.getValue()))).toList();
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
