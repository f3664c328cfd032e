package org.apache.kafka.connect.mirror;

import com.fasterxml.jackson.databind.*;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.TopicPartition;

/** How MirrorMaker 2 translates offsets: AskOffsetTranslation CASES ANSWERED, two JSON files with lists of cases. */
public class AskOffsetTranslation {
    private static final TopicPartition WHERE = new TopicPartition("topic", 0);
    private static final String GROUP = "group";

    public static void main(String[] files) throws Exception {
        ObjectMapper json = new ObjectMapper();
        JsonNode cases = json.readTree(new File(files[0]));
        for (JsonNode one : cases) {
            switch (one.get("kind").asText()) {
                case "offset_sync_store" -> steps(new Store(), one.get("steps").iterator());
                case "checkpoint" -> checkpoint((ObjectNode) one, one.get("sync"));
                case "checkpoint_sequence" -> sequence(one);
                default -> emission(one);
            }
        }
        json.writeValue(new File(files[1]), cases);
    }

    /** A store that reads what it is given instead of a topic. */
    private static final class Store extends OffsetSyncStore {
        private Runnable reading = () -> { };

        @Override
        void backingStoreStart() {
            reading.run();
        }

        void sync(TopicPartition where, long upstream, long downstream) {
            OffsetSync sync = new OffsetSync(where, upstream, downstream);
            handleRecord(new ConsumerRecord<>("syncs", 0, 0, sync.recordKey(), sync.recordValue()));
        }
    }

    private static void steps(Store store, Iterator<JsonNode> steps) {
        while (steps.hasNext()) {
            JsonNode step = steps.next();
            switch (step.get("op").asText()) {
                case "begin" -> {
                    store.reading = () -> steps(store, steps);
                    store.start(step.get("initialization_must_read_to_end").asBoolean());
                }
                case "end_of_topic" -> {
                    return;
                }
                case "sync" -> store.sync(WHERE, number(step, "upstream"), number(step, "downstream"));
                case "sync_range" -> {
                    for (long at = number(step, "from"); at <= number(step, "to"); at += number(step, "step")) {
                        store.sync(WHERE, at, at);
                    }
                }
                default -> {
                    OptionalLong found = store.translateDownstream(GROUP, WHERE, number(step, "group_offset"));
                    ((ObjectNode) step).put("expected", found.isPresent() ? (Long) found.getAsLong() : null);
                }
            }
        }
    }

    private static MirrorCheckpointTask task(JsonNode one, OffsetSyncStore store, CheckpointStore checkpoints) {
        return new MirrorCheckpointTask(one.path("source_alias").asText("source"), one.path("target_alias").asText("target"),
            new DefaultReplicationPolicy(), store, Set.of(GROUP), Map.of(), checkpoints);
    }

    private static void checkpoint(ObjectNode one, JsonNode sync) {
        TopicPartition where = new TopicPartition(sync.get("topic").asText(), sync.get("partition").asInt());
        Store store = new Store();
        store.start(true);
        store.sync(where, number(sync, "upstream"), number(sync, "downstream"));
        Checkpoint made = task(one, store, null)
            .checkpoint(GROUP, where, new OffsetAndMetadata(number(one, "group_offset"))).orElseThrow();
        one.putObject("expected").put("topic", made.topicPartition().topic())
            .put("partition", made.topicPartition().partition())
            .put("upstream", made.upstreamOffset()).put("downstream", made.downstreamOffset());
    }

    /** Each phase is a task that starts with the checkpoints of the task before it. */
    private static void sequence(JsonNode one) {
        CheckpointStore checkpoints = new CheckpointStore(new HashMap<>());
        for (JsonNode phase : one.get("phases")) {
            Store store = new Store();
            store.start(true);
            phase.get("syncs_upstream").forEach(at -> store.sync(WHERE, at.asLong(), at.asLong()));
            MirrorCheckpointTask task = task(one, store, checkpoints);
            for (JsonNode emission : phase.get("emissions")) {
                OffsetAndMetadata committed = new OffsetAndMetadata(number(emission, "group_offset"));
                long translated = task.checkpoint(GROUP, WHERE, committed).orElseThrow().downstreamOffset();
                Map<TopicPartition, Checkpoint> emitted = task.checkpointsForGroup(Map.of(WHERE, committed), GROUP);
                checkpoints.update(GROUP, emitted);
                ((ObjectNode) emission).put("translated", translated).put("emitted", !emitted.isEmpty());
            }
        }
    }

    private static void emission(JsonNode one) {
        var state = new OffsetSyncWriter.PartitionState(number(one, "offset_lag_max"));
        for (JsonNode phase : one.get("phases")) {
            if (phase.path("reset_before").asBoolean()) {
                state.reset();
            }
            for (JsonNode update : phase.get("updates")) {
                ((ObjectNode) update).put("emit", state.update(number(update, "upstream"), number(update, "downstream")));
                if (phase.get("reset_after_each").asBoolean()) {
                    state.reset();
                }
            }
        }
    }

    private static long number(JsonNode of, String key) {
        return of.get(key).asLong();
    }
}
