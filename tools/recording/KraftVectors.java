import com.fasterxml.jackson.databind.*;
import com.fasterxml.jackson.databind.node.*;
import java.io.*;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.*;
import java.util.function.BiFunction;
import org.apache.kafka.common.*;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.errors.CorruptRecordException;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.metadata.*;
import org.apache.kafka.common.protocol.*;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.utils.*;
import org.apache.kafka.controller.PartitionChangeBuilder;
import org.apache.kafka.metadata.*;
import org.apache.kafka.metadata.bootstrap.BootstrapDirectory;
import org.apache.kafka.server.common.*;
import org.apache.kafka.snapshot.Snapshots;
import org.apache.kafka.storage.internals.log.LogFileUtils;

/** Answers the cases of kraft_vectors: per case its keys with Kafka's values, fields under Kafka's names. */
public final class KraftVectors {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final MetadataRecordSerde SERDE = MetadataRecordSerde.INSTANCE;

    /** Bytes read as one message: its fields, and the bytes that Kafka writes for it. */
    private record Read(ObjectNode fields, ByteBuffer written) {}

    public static void main(String[] files) throws IOException {
        ArrayNode answers = JSON.createArrayNode();
        JSON.readTree(new File(files[0])).forEach(one -> answers.add(answer(one)));
        JSON.writeValue(new File(files[1]), answers);
    }

    private static ObjectNode answer(JsonNode one) {
        ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(one.path("hex").asText()));
        Uuid id = bytes.limit() == 16 ? new Uuid(bytes.getLong(0), bytes.getLong(8)) : Uuid.ZERO_UUID;
        byte[] input = one.path("input_utf8").asText().getBytes(StandardCharsets.UTF_8);
        ObjectNode found = JSON.createObjectNode();
        return switch (one.get("kind").asText()) {
            case "control_value" -> both(control(
                ControlRecordType.fromTypeId(one.path("control_type").shortValue()), bytes));
            case "metadata_value" -> both(value(bytes));
            case "metadata_body" -> both(body(one, bytes));
            case "control_key" -> both(key(ControlRecordType.parse(bytes.duplicate()), bytes.getShort(0)));
            case "record_batch", "snapshot" -> batches(bytes, Path.of(one.path("file_name").asText()));
            case "record_batch_error" -> found.put("expected", error(bytes));
            case "file_name" -> found.set("expected", file(Path.of(one.get("name").asText())));
            case "uuid_text" -> found.put("expected", id.toString());
            case "directory_id" -> found.put("expected", Map.of(DirectoryId.LOST, "LOST",
                DirectoryId.MIGRATING, "MIGRATING", DirectoryId.UNASSIGNED, "UNASSIGNED").get(id));
            case "crc32c" -> found.put("expected_hex",
                HexFormat.of().toHexDigits((int) Crc32C.compute(input, 0, input.length)));
            case "partition_merge" -> merge(one, found);
            case "elr" -> elr(one, found);
            default -> throw new IllegalArgumentException(one.toString());
        };
    }

    private static ObjectNode both(Read read) {
        String hex = HexFormat.of().formatHex(Utils.toArray(read.written()));
        return JSON.createObjectNode().put("hex", hex).set("expected", read.fields());
    }

    private static <M extends Message> Read read(M message, BiFunction<M, Short, JsonNode> fields, short version) {
        return new Read((ObjectNode) fields.apply(message, version),
            MessageUtil.toByteBufferAccessor(message, version).buffer());
    }

    private static Read control(ControlRecordType type, ByteBuffer bytes) {
        short version = bytes.getShort(bytes.position());
        return switch (type) {
            case SNAPSHOT_HEADER -> read(ControlRecordUtils.deserializeSnapshotHeaderRecord(bytes),
                SnapshotHeaderRecordJsonConverter::write, version);
            case SNAPSHOT_FOOTER -> read(ControlRecordUtils.deserializeSnapshotFooterRecord(bytes),
                SnapshotFooterRecordJsonConverter::write, version);
            case KRAFT_VERSION -> read(ControlRecordUtils.deserializeKRaftVersionRecord(bytes),
                KRaftVersionRecordJsonConverter::write, version);
            case KRAFT_VOTERS -> read(ControlRecordUtils.deserializeVotersRecord(bytes),
                VotersRecordJsonConverter::write, version);
            default -> throw new IllegalArgumentException(type.name());
        };
    }

    private static Read key(ControlRecordType type, short version) {
        ObjectNode fields = JSON.createObjectNode().put("version", version).put("type", type.type());
        return new Read(fields.put("name", type.name()), type.recordKey());
    }

    private static Read body(JsonNode one, ByteBuffer bytes) {
        ApiMessage body = MetadataRecordType.fromId(one.path("api_key").shortValue()).newMetadataRecord();
        body.read(new ByteBufferAccessor(bytes), one.path("version").shortValue());
        return read(body, MetadataJsonConverters::writeJson, one.path("version").shortValue());
    }

    private static Read value(ByteBuffer bytes) {
        ApiMessageAndVersion read = SERDE.read(new ByteBufferAccessor(bytes), bytes.remaining());
        ObjectNode fields = (ObjectNode) MetadataJsonConverters.writeJson(read.message(), read.version());
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer written = ByteBuffer.allocate(SERDE.recordSize(read, cache));
        SERDE.write(read, cache, new ByteBufferAccessor(written));
        fields.put("frameVersion", written.get(0)).put("apiKey", read.message().apiKey());
        return new Read(fields.put("version", read.version()), written.flip());
    }

    /** What is in all batches, and the bytes that Kafka's builder makes of every value written again. */
    private static ObjectNode batches(ByteBuffer bytes, Path name) {
        ObjectNode told = file(name);
        ArrayNode records = told.putArray("records"), types = told.putArray("controlTypes");
        StringBuilder written = new StringBuilder();
        int count = 0;
        for (MutableRecordBatch batch : MemoryRecords.readableRecords(bytes).batches()) {
            batch.ensureValid();
            MemoryRecordsBuilder builder = new MemoryRecordsBuilder(ByteBuffer.allocate(bytes.limit()), batch.magic(),
                Compression.NONE, TimestampType.CREATE_TIME, batch.baseOffset(), batch.maxTimestamp(),
                batch.producerId(), batch.producerEpoch(), batch.baseSequence(), false, batch.isControlBatch(),
                batch.partitionLeaderEpoch(), bytes.limit());
            for (Record record : batch) {
                var type = batch.isControlBatch() ? ControlRecordType.parse(record.key()) : null;
                Read read = type == null ? value(record.value()) : control(type, record.value());
                if (type == null) {
                    builder.append(record.timestamp(), null, read.written());
                } else {
                    types.add(type.type());
                    builder.appendControlRecord(record.timestamp(), type, read.written());
                    read.fields().put("controlType", type.type());
                }
                records.add(read.fields().put("offset", record.offset()));
                told.setAll(read.fields());
            }
            written.append(HexFormat.of().formatHex(Utils.toArray(builder.build().buffer())));
            told.put("baseOffset", batch.baseOffset()).put("leaderEpoch", batch.partitionLeaderEpoch())
                .put("control", batch.isControlBatch()).put("timestampMs", batch.maxTimestamp())
                .put("recordCount", batch.countOrNull()).put("batches", ++count);
        }
        return JSON.createObjectNode().put("hex", written.toString()).set("expected", told);
    }

    private static String error(ByteBuffer bytes) {
        try {
            MemoryRecords records = MemoryRecords.readableRecords(bytes);
            records.batches().forEach(RecordBatch::ensureValid);
            return records.validBytes() < bytes.limit() ? "batch is cut off" : "none";
        } catch (CorruptRecordException error) {
            return error.getMessage().contains("crc") ? "CRC mismatch" : error.getMessage();
        }
    }

    private static ObjectNode file(Path name) {
        ObjectNode found = JSON.createObjectNode();
        if (name.toString().equals(BootstrapDirectory.BINARY_BOOTSTRAP_FILENAME)) {
            return found.put("type", "bootstrap");
        }
        var snapshot = Snapshots.parse(name);
        found.put("snapshot", snapshot.isPresent());
        snapshot.ifPresent(path -> found.put("type", "snapshot").put("deleted", path.deleted())
            .put("endOffset", path.snapshotId().offset()).setAll((ObjectNode) JSON.valueToTree(path.snapshotId())));
        if (LogFileUtils.isLogFile(name.toFile())) {
            found.put("type", "log").put("baseOffset", LogFileUtils.offsetFromFileName(name.toString()));
        }
        return found;
    }

    private static ObjectNode merge(JsonNode one, ObjectNode found) {
        PartitionRegistration before = partition(one.get("before")), now = before;
        ArrayNode states = found.putArray("expected");
        for (JsonNode change : one.get("changes")) {
            now = now.merge((PartitionChangeRecord) MetadataJsonConverters.readJson(change, (short) 5, (short) 2));
            states.add(JSON.<JsonNode>valueToTree(now));
        }
        return found.put("diff_text", now.diff(before));
    }

    private static ObjectNode elr(JsonNode one, ObjectNode found) {
        List<Integer> online = List.of(JSON.convertValue(one.get("online"), Integer[].class));
        List<Integer> isr = List.of(JSON.convertValue(one.get("target_isr"), Integer[].class));
        var change = new PartitionChangeBuilder(partition(one.get("before")), Uuid.ONE_UUID, 0, online::contains,
            MetadataVersion.latestProduction(), one.get("min_isr").asInt(), true).setTargetIsr(isr)
            .setDefaultDirProvider(id -> DirectoryId.UNASSIGNED).build().orElseThrow();
        JsonNode fields = MetadataJsonConverters.writeJson(change.message(), change.version());
        return found.set("expected", ((ObjectNode) fields).put("recordVersion", change.version()));
    }

    private static PartitionRegistration partition(JsonNode record) {
        return new PartitionRegistration(
            (PartitionRecord) MetadataJsonConverters.readJson(record, (short) 3, (short) 2));
    }
}
