package org.apache.kafka.connect.mirror;

import com.fasterxml.jackson.databind.*;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.lang.reflect.*;
import java.util.*;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.*;
import org.apache.kafka.common.resource.*;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.runtime.rest.entities.*;

/**
 * Names, decisions and records of MirrorMaker 2: AskMirrorMaker CASES ANSWERED, two JSON files with lists of cases.
 * What a version does not have is answered with "no" and its name.
 */
public class AskMirrorMaker {
    private static final String PACKAGE = "org.apache.kafka.connect.mirror.";
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final HexFormat HEX = HexFormat.of();

    public static void main(String[] files) throws Exception {
        JsonNode cases = JSON.readTree(new File(files[0]));
        for (JsonNode one : cases) {
            try {
                answer((ObjectNode) one, text(one, "kind"));
            } catch (NoSuchFieldException | NoSuchMethodException missing) {
                ((ObjectNode) one).put("expected", "no " + missing.getMessage());
            }
        }
        JSON.writeValue(new File(files[1]), cases);
    }

    private static void answer(ObjectNode one, String kind) throws Exception {
        switch (kind) {
            case "vector" -> encode(one, one.get("fields"));
            case "refuse" -> one.set("upstream", JSON.valueToTree(decode(one)));
            case "json" -> connectOffset(one);
            default -> one.set("expected", JSON.valueToTree(expected(one, kind)));
        }
    }

    private static Object expected(JsonNode one, String kind) throws Exception {
        String topic = text(one, "topic");
        return switch (kind) {
            case "corner_case" -> cornerCase(one, topic);
            case "predicate" -> ofPolicy(one, text(one, "predicate") + "_topic", topic);
            case "topic_name" -> one.get("alias").isNull() ? ofPolicy(one, text(one, "function"))
                : ofPolicy(one, text(one, "function"), text(one, "alias"));
            case "call" -> ofPolicy(one, text(one, "function"), JSON.convertValue(one.get("args"), Object[].class));
            case "count_hops" -> client(one, Set.of()).countHopsForTopic(topic, text(one, "source_alias"));
            case "topic_set" -> topicSet(one, Arrays.asList(JSON.convertValue(one.get("topics"), String[].class)));
            case "should_replicate" -> connector(one, text(one, "topic_filter")).shouldReplicateTopic(topic);
            case "acl_sync" -> acl(one, connector(one, "accepts all"));
            case "task_assignment" -> tasks(one);
            case "offset_syncs_location" -> {
                MirrorSourceConfig config = config(one);
                yield JSON.createObjectNode().put("topic", config.offsetSyncsTopic())
                    .put("cluster", (String) config.offsetSyncsTopicAdminConfig().get("bootstrap.servers"));
            }
            default -> rename(one, new MirrorCheckpointTask());
        };
    }

    private static Object cornerCase(JsonNode one, String topic) throws Exception {
        ObjectNode found = JSON.createObjectNode().put("format_remote_topic",
            policy(one).formatRemoteTopic(text(one, "format_with_source_alias"), topic));
        for (String name : List.of("topic_source", "upstream_topic", "original_topic")) {
            found.putPOJO(name, ofPolicy(one, name, topic));
        }
        for (String name : List.of("is_heartbeats", "is_checkpoints", "is_mm2_internal", "is_internal")) {
            found.putPOJO(name, ofPolicy(one, name + "_topic", topic));
        }
        return found;
    }

    private static DefaultReplicationPolicy policy(JsonNode one) throws Exception {
        JsonNode asked = one.path("policy");
        Class<?> type = Class.forName(PACKAGE + asked.path("class").asText("DefaultReplicationPolicy"));
        DefaultReplicationPolicy policy = (DefaultReplicationPolicy) type.getDeclaredConstructor().newInstance();
        Map<String, Object> settings = new HashMap<>();
        settings.put("replication.policy.separator", asked.path("separator").asText("."));
        settings.put("replication.policy.internal.topic.separator.enabled",
            asked.path("internal_topic_separator_enabled").asText("true"));
        if (asked.hasNonNull("source_cluster_alias")) {
            settings.put("source.cluster.alias", text(asked, "source_cluster_alias"));
        }
        policy.configure(settings);
        return policy;
    }

    private static MirrorClient client(JsonNode one, Set<String> topics) throws Exception {
        return new MirrorClient(null, policy(one), Map.of()) {
            @Override
            Set<String> listTopics() {
                return topics;
            }
        };
    }

    /** Topics in the order of the question, as a set of Java has none. */
    private static Object topicSet(JsonNode one, List<String> topics) throws Exception {
        Object[] alias = one.has("source_alias") ? new Object[] {text(one, "source_alias")} : new Object[0];
        Object found = call(MirrorClient.class, client(one, new HashSet<>(topics)), text(one, "function"), alias);
        if (found instanceof Set<?> names) {
            return topics.containsAll(names) ? topics.stream().filter(names::contains).toList() : new TreeSet<>(names);
        }
        return found;
    }

    private static MirrorSourceConnector connector(JsonNode one, String accepts) throws Exception {
        TopicFilter filter = switch (accepts) {
            case "accepts all" -> topic -> true;
            case "rejects all" -> topic -> false;
            default -> new DefaultTopicFilter();
        };
        SourceAndTarget flow = new SourceAndTarget(alias(one, "source"), alias(one, "target"));
        MirrorSourceConnector connector = new MirrorSourceConnector(flow, policy(one), filter, property -> true);
        if (!one.path("heartbeats_replication_enabled").asBoolean(true)) {
            set(connector, "heartbeatsReplicationEnabled", false);
        }
        return connector;
    }

    private static Object acl(JsonNode one, MirrorSourceConnector connector) {
        AclBinding binding = new AclBinding(
            new ResourcePattern(ResourceType.TOPIC, text(one, "topic"), PatternType.LITERAL),
            new AccessControlEntry("User:a", "*", AclOperation.valueOf(text(one, "operation")),
                AclPermissionType.valueOf(text(one, "permission"))));
        if (!connector.shouldReplicateAcl(binding)) {
            return null;
        }
        AclBinding target = connector.targetAclBinding(binding);
        return JSON.createObjectNode().put("permission", target.entry().permissionType().name())
            .put("operation", target.entry().operation().name()).put("topic", target.pattern().name());
    }

    private static Object tasks(JsonNode one) {
        List<TopicPartition> known = new ArrayList<>();
        one.get("partitions").fields().forEachRemaining(topic -> {
            for (int number = 0; number < topic.getValue().asInt(); number++) {
                known.add(new TopicPartition(topic.getKey(), number));
            }
        });
        return new MirrorSourceConnector(known, config(one)).taskConfigs(one.get("tasks").asInt()).stream()
            .map(task -> task.get("task.assigned.partitions").split(",")).toList();
    }

    private static MirrorSourceConfig config(JsonNode one) {
        return new MirrorSourceConfig(Map.of("name", "flow", "connector.class", PACKAGE + "MirrorSourceConnector",
            "source.cluster.alias", alias(one, "source"), "target.cluster.alias", alias(one, "target"),
            "source.cluster.bootstrap.servers", "source", "target.cluster.bootstrap.servers", "target",
            "offset-syncs.topic.location", one.path("location").asText("source")));
    }

    private static Object rename(JsonNode one, MirrorCheckpointTask task) throws Exception {
        set(task, "sourceClusterAlias", alias(one, "source"));
        set(task, "targetClusterAlias", alias(one, "target"));
        set(task, "replicationPolicy", policy(one));
        return task.renameTopicPartition(partition(one)).topic();
    }

    private static void encode(ObjectNode one, JsonNode fields) throws Exception {
        long upstream = fields.path("upstream_offset").asLong();
        long downstream = fields.path("downstream_offset").asLong();
        ObjectNode written = written(switch (text(one, "record")) {
            case "OffsetSync" -> new OffsetSync(partition(fields), upstream, downstream);
            case "Checkpoint" -> new Checkpoint(text(fields, "consumer_group_id"), partition(fields), upstream,
                downstream, text(fields, "metadata"));
            default -> new Heartbeat(text(fields, "source_cluster_alias"), text(fields, "target_cluster_alias"),
                fields.get("timestamp_ms").asLong());
        });
        for (String part : List.of("key", "value")) {
            String hex = text(written, part + "_hex");
            one.put(part + "_hex", hex).put(part + "_length", hex.length() / 2);
        }
        // What was written is read as the same.
        if (!decode(one).equals(written)) {
            throw new IllegalStateException(one + " is read as " + decode(one));
        }
    }

    /** What is read, written again; or the name of the exception. */
    private static Object decode(JsonNode one) throws Exception {
        Class<?> type = Class.forName(PACKAGE + text(one, "record"));
        try {
            return written(type.getMethod("deserializeRecord", ConsumerRecord.class).invoke(null, new ConsumerRecord<>(
                "topic", 0, 0, HEX.parseHex(text(one, "key_hex")), HEX.parseHex(text(one, "value_hex")))));
        } catch (InvocationTargetException refused) {
            return refused.getCause().getClass().getSimpleName();
        }
    }

    private static ObjectNode written(Object record) throws Exception {
        return JSON.createObjectNode()
            .put("key_hex", HEX.formatHex((byte[]) call(record.getClass(), record, "recordKey")))
            .put("value_hex", HEX.formatHex((byte[]) call(record.getClass(), record, "recordValue")));
    }

    /** A copied offset as Connect's converter writes it, and as its REST interface does. */
    private static void connectOffset(ObjectNode one) throws Exception {
        JsonNode asked = one.get("expected").isArray() ? one.get("expected").get(0) : one.get("expected");
        Map<String, ?> where = MirrorUtils.wrapPartition(partition(asked), text(asked, "source_cluster"));
        Map<String, ?> offset = MirrorUtils.wrapOffset(asked.get("last_replicated_source_offset").asLong());
        if (!one.has("key")) {
            one.set("value", JSON.valueToTree(new ConnectorOffsets(List.of(new ConnectorOffset(where, offset)))));
            return;
        }
        try (JsonConverter converter = new JsonConverter()) {
            converter.configure(Map.of("schemas.enable", "false"), false);
            List<?> key = List.of("MirrorSourceConnector", where);
            one.set("key", JSON.readTree(converter.fromConnectData("topic", null, key)));
            one.set("value", JSON.readTree(converter.fromConnectData("topic", null, offset)));
        }
    }

    private static Object ofPolicy(JsonNode one, String name, Object... arguments) throws Exception {
        return call(ReplicationPolicy.class, policy(one), name, arguments);
    }

    /** The answer of a method whose name is written with or without underscores. */
    private static Object call(Class<?> type, Object target, String name, Object... arguments) throws Exception {
        for (Method method : type.getDeclaredMethods()) {
            if (method.getName().equalsIgnoreCase(name.replace("_", "")) && method.getParameterCount() == arguments.length) {
                return method.invoke(target, arguments);
            }
        }
        throw new NoSuchMethodException(name);
    }

    private static void set(Object target, String name, Object value) throws Exception {
        Field field = target.getClass().getDeclaredField(name);
        field.setAccessible(true);
        field.set(target, value);
    }

    private static TopicPartition partition(JsonNode of) {
        return new TopicPartition(text(of, "topic"), of.path("partition").asInt());
    }

    private static String alias(JsonNode one, String of) {
        return one.path(of + "_alias").asText(of);
    }

    private static String text(JsonNode of, String key) {
        return of.path(key).textValue();
    }
}
