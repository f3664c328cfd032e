package org.apache.kafka.connect.mirror;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.runtime.rest.entities.ConnectorOffset;
import org.apache.kafka.connect.runtime.rest.entities.ConnectorOffsets;

/** Names, records and decisions of MirrorMaker 2: AskMirrorMaker QUESTIONS ANSWERS, two JSON files with lists. */
public class AskMirrorMaker {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] files) throws Exception {
        List<Object> answers = new ArrayList<>();
        for (JsonNode question : JSON.readTree(new File(files[0]))) {
            answers.add(answer(question));
        }
        JSON.writeValue(new File(files[1]), answers);
    }

    private static Object answer(JsonNode question) throws Exception {
        return switch (text(question, "ask")) {
            case "policy" -> call(ReplicationPolicy.class, policy(question), question);
            case "client" -> call(MirrorClient.class, client(question), question);
            case "should_replicate" -> connector(question).shouldReplicateTopic(text(question, "topic"));
            case "acl" -> acl(question);
            case "tasks" -> tasks(question);
            case "rename" -> rename(question);
            case "offset_syncs" -> offsetSyncs(new MirrorSourceConfig(settings(question)));
            case "encode" -> written(record(text(question, "record"), question.get("fields")));
            case "decode" -> decode(question);
            default -> connectOffset(question);
        };
    }

    private static ReplicationPolicy policy(JsonNode question) throws Exception {
        Class<?> type = Class.forName("org.apache.kafka.connect.mirror." + text(question, "class"));
        DefaultReplicationPolicy policy = (DefaultReplicationPolicy) type.getDeclaredConstructor().newInstance();
        policy.configure(settings(question));
        return policy;
    }

    private static MirrorClient client(JsonNode question) throws Exception {
        Set<String> topics = JSON.convertValue(question.get("topics"), JSON.getTypeFactory().constructCollectionType(Set.class, String.class));
        return new MirrorClient(null, policy(question), Map.of()) {
            @Override
            Set<String> listTopics() {
                return topics;
            }
        };
    }

    private static MirrorSourceConnector connector(JsonNode question) throws Exception {
        TopicFilter filter = switch (text(question, "filter")) {
            case "accepts all" -> topic -> true;
            case "rejects all" -> topic -> false;
            default -> new DefaultTopicFilter();
        };
        MirrorSourceConnector connector =
            new MirrorSourceConnector(new SourceAndTarget("source", "target"), policy(question), filter, property -> true);
        if (!question.path("heartbeats").asBoolean(true)) {
            set(connector, "heartbeatsReplicationEnabled", false);
        }
        return connector;
    }

    private static Object acl(JsonNode question) throws Exception {
        AclBinding binding = new AclBinding(
            new ResourcePattern(ResourceType.TOPIC, text(question, "topic"), PatternType.LITERAL),
            new AccessControlEntry("User:a", "*", AclOperation.valueOf(text(question, "operation")),
                AclPermissionType.valueOf(text(question, "permission"))));
        MirrorSourceConnector connector = connector(question);
        if (!connector.shouldReplicateAcl(binding)) {
            return null;
        }
        AclBinding target = connector.targetAclBinding(binding);
        return List.of(target.entry().permissionType().name(), target.entry().operation().name(), target.pattern().name());
    }

    private static Object tasks(JsonNode question) {
        List<TopicPartition> known = new ArrayList<>();
        question.get("partitions").forEach(one -> known.add(partition(one)));
        return new MirrorSourceConnector(known, new MirrorSourceConfig(settings(question)))
            .taskConfigs(question.get("tasks").asInt());
    }

    private static Object rename(JsonNode question) throws Exception {
        MirrorCheckpointTask task = new MirrorCheckpointTask();
        set(task, "sourceClusterAlias", text(question, "source"));
        set(task, "targetClusterAlias", text(question, "target"));
        set(task, "replicationPolicy", policy(question));
        return task.renameTopicPartition(partition(question)).topic();
    }

    private static Object offsetSyncs(MirrorSourceConfig config) {
        return List.of(config.offsetSyncsTopic(), config.offsetSyncsTopicAdminConfig().get("bootstrap.servers"));
    }

    private static Object record(String type, JsonNode fields) {
        long upstream = fields.path("upstream_offset").asLong();
        long downstream = fields.path("downstream_offset").asLong();
        return switch (type) {
            case "OffsetSync" -> new OffsetSync(partition(fields), upstream, downstream);
            case "Checkpoint" -> new Checkpoint(text(fields, "consumer_group_id"), partition(fields), upstream, downstream,
                text(fields, "metadata"));
            default -> new Heartbeat(text(fields, "source_cluster_alias"), text(fields, "target_cluster_alias"),
                fields.get("timestamp_ms").asLong());
        };
    }

    /** Key and value in hex, or the name of the exception. */
    private static Object written(Object record) throws Exception {
        List<String> bytes = new ArrayList<>();
        for (String part : List.of("recordKey", "recordValue")) {
            Method method = record.getClass().getDeclaredMethod(part);
            try {
                bytes.add(HexFormat.of().formatHex((byte[]) method.invoke(record)));
            } catch (InvocationTargetException refused) {
                return refused.getCause().getClass().getSimpleName();
            }
        }
        return bytes;
    }

    /** What was read, written again; or the name of the exception. */
    private static Object decode(JsonNode question) throws Exception {
        byte[] key = HexFormat.of().parseHex(text(question, "key_hex"));
        String value = text(question, "value_hex");
        Class<?> type = Class.forName("org.apache.kafka.connect.mirror." + text(question, "record"));
        try {
            return written(type.getMethod("deserializeRecord", ConsumerRecord.class).invoke(null,
                new ConsumerRecord<>("topic", 0, 0, key, value == null ? null : HexFormat.of().parseHex(value))));
        } catch (InvocationTargetException refused) {
            return refused.getCause().getClass().getSimpleName();
        }
    }

    /** How Connect's converter writes a copied offset, and how its REST interface does. */
    private static Object connectOffset(JsonNode question) throws Exception {
        Map<String, ?> where = MirrorUtils.wrapPartition(partition(question), text(question, "source"));
        Map<String, ?> offset = MirrorUtils.wrapOffset(question.get("offset").asLong());
        try (JsonConverter converter = new JsonConverter()) {
            converter.configure(Map.of("schemas.enable", "false"), false);
            byte[] key = converter.fromConnectData("topic", null, List.of("MirrorSourceConnector", where));
            byte[] value = converter.fromConnectData("topic", null, offset);
            Object rest = new ConnectorOffsets(List.of(new ConnectorOffset(where, offset)));
            return List.of(JSON.readTree(key), JSON.readTree(value), rest);
        }
    }

    private static Object call(Class<?> type, Object target, JsonNode question) throws Exception {
        Object[] arguments = JSON.convertValue(question.get("arguments"), String[].class);
        for (Method method : type.getDeclaredMethods()) {
            if (method.getName().equals(text(question, "method")) && method.getParameterCount() == arguments.length) {
                return method.invoke(target, arguments);
            }
        }
        throw new NoSuchMethodException("This version's " + type.getSimpleName() + " has no " + text(question, "method"));
    }

    private static void set(Object target, String name, Object value) throws Exception {
        Field field = target.getClass().getDeclaredField(name);
        field.setAccessible(true);
        field.set(target, value);
    }

    private static TopicPartition partition(JsonNode of) {
        return new TopicPartition(text(of, "topic"), of.path("partition").asInt());
    }

    private static Map<String, String> settings(JsonNode question) {
        return JSON.convertValue(question.get("settings"), JSON.getTypeFactory().constructMapType(Map.class, String.class, String.class));
    }

    private static String text(JsonNode of, String key) {
        return of.path(key).textValue();
    }
}
