import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.connect.mirror.MirrorClient;
import org.apache.kafka.connect.mirror.RemoteClusterUtils;

/** Prints Kafka's own answers as JSON: AskMirrorClient SETTINGS-JSON QUESTIONS-JSON. */
public class AskMirrorClient {
    @SuppressWarnings("unchecked")
    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = new ObjectMapper();
        Map<String, Object> settings = json.readValue(arguments[0], Map.class);
        Map<String, Object> questions = json.readValue(arguments[1], Map.class);
        Map<String, Object> answers = new TreeMap<>();
        answers.put("heartbeat_topics", RemoteClusterUtils.heartbeatTopics(settings));
        answers.put("checkpoint_topics", RemoteClusterUtils.checkpointTopics(settings));
        answers.put("upstream_clusters", RemoteClusterUtils.upstreamClusters(settings));
        Map<String, Object> hops = new TreeMap<>();
        Map<String, Object> remote = new TreeMap<>();
        try (MirrorClient client = new MirrorClient(settings)) {
            answers.put("remote_topics", client.remoteTopics());
            for (String alias : (Iterable<String>) questions.get("aliases")) {
                hops.put(alias, RemoteClusterUtils.replicationHops(settings, alias));
                remote.put(alias, client.remoteTopics(alias));
            }
        }
        answers.put("replication_hops", hops);
        answers.put("remote_topics_of", remote);
        Map<String, Object> offsets = new TreeMap<>();
        for (Map.Entry<String, String> asked : ((Map<String, String>) questions.get("groups")).entrySet()) {
            Map<String, Object> found = new TreeMap<>();
            RemoteClusterUtils.translateOffsets(settings, asked.getValue(), asked.getKey(), Duration.ofSeconds(30))
                .forEach((where, offset) -> found.put(where.toString(), new Object[] {offset.offset(), offset.metadata()}));
            offsets.put(asked.getKey(), found);
        }
        answers.put("remote_consumer_offsets", offsets);
        System.out.println("ANSWERS " + json.writeValueAsString(answers));
    }
}
