package org.apache.kafka.connect.mirror;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** How MirrorMaker 2 translates offsets: AskOffsetTranslation QUESTIONS ANSWERS, two JSON files with lists. */
public class AskOffsetTranslation {
    private static final String GROUP = "group";

    public static void main(String[] files) throws Exception {
        ObjectMapper json = new ObjectMapper();
        List<Object> answers = new ArrayList<>();
        for (JsonNode question : json.readTree(new File(files[0]))) {
            List<Object> found = new ArrayList<>();
            switch (question.get("ask").asText()) {
                case "store" -> steps(new Store(), question.get("steps").iterator(), found);
                case "tasks" -> tasks(question, found);
                default -> emission(question, found);
            }
            answers.add(found);
        }
        json.writeValue(new File(files[1]), answers);
    }

    /** A store that reads what it is given instead of a topic. */
    private static final class Store extends OffsetSyncStore {
        private Runnable reading = () -> { };

        @Override
        void backingStoreStart() {
            reading.run();
        }

        void sync(JsonNode sync) {
            OffsetSync read = new OffsetSync(partition(sync), sync.get("upstream").asLong(), sync.get("downstream").asLong());
            handleRecord(new ConsumerRecord<>("syncs", 0, 0, read.recordKey(), read.recordValue()));
        }
    }

    private static void steps(Store store, Iterator<JsonNode> steps, List<Object> answers) {
        while (steps.hasNext()) {
            JsonNode step = steps.next();
            switch (step.get("op").asText()) {
                case "begin" -> {
                    store.reading = () -> steps(store, steps, answers);
                    store.start(step.get("initialization_must_read_to_end").asBoolean());
                }
                case "end_of_topic" -> {
                    return;
                }
                case "sync" -> store.sync(step);
                default -> {
                    OptionalLong found = store.translateDownstream(GROUP, partition(step), step.get("group_offset").asLong());
                    answers.add(found.isPresent() ? found.getAsLong() : null);
                }
            }
        }
    }

    /** Each phase is a task that starts with the checkpoints of the task before it. */
    private static void tasks(JsonNode question, List<Object> answers) {
        CheckpointStore checkpoints = new CheckpointStore(new HashMap<>());
        for (JsonNode phase : question.get("phases")) {
            Store store = new Store();
            store.start(true);
            phase.get("syncs").forEach(store::sync);
            TopicPartition where = partition(phase.get("syncs").get(0));
            MirrorCheckpointTask task = new MirrorCheckpointTask(question.get("source").asText(),
                question.get("target").asText(), new DefaultReplicationPolicy(), store, Set.of(GROUP), Map.of(), checkpoints);
            for (JsonNode offset : phase.get("offsets")) {
                OffsetAndMetadata committed = new OffsetAndMetadata(offset.asLong());
                Checkpoint found = task.checkpoint(GROUP, where, committed).orElseThrow();
                Map<TopicPartition, Checkpoint> emitted = task.checkpointsForGroup(Map.of(where, committed), GROUP);
                checkpoints.update(GROUP, emitted);
                answers.add(Map.of("topic", found.topicPartition().topic(), "partition", found.topicPartition().partition(),
                    "upstream", found.upstreamOffset(), "downstream", found.downstreamOffset(), "emitted", !emitted.isEmpty()));
            }
        }
    }

    private static void emission(JsonNode question, List<Object> answers) {
        OffsetSyncWriter.PartitionState state = new OffsetSyncWriter.PartitionState(question.get("lag").asLong());
        for (JsonNode update : question.get("updates")) {
            if (update.isEmpty()) {
                state.reset();
            } else {
                answers.add(state.update(update.get(0).asLong(), update.get(1).asLong()));
            }
        }
    }

    private static TopicPartition partition(JsonNode of) {
        return new TopicPartition(of.path("topic").asText("topic"), of.path("partition").asInt());
    }
}
