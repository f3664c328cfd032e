import org.apache.kafka.common.metadata.MetadataRecordType;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;

/** Prints the fields of every metadata record of this Kafka, a line each: type, version, path, tag, kind, nullable. */
public class PrintSchemas {
    public static void main(String[] arguments) throws ReflectiveOperationException {
        for (MetadataRecordType type : MetadataRecordType.values()) {
            Class<?> record = type.newMetadataRecord().getClass();
            Schema[] schemas = (Schema[]) record.getField("SCHEMAS").get(null);
            for (int version = type.lowestSupportedVersion(); version <= type.highestSupportedVersion(); version++) {
                System.out.println("RECORD " + type.id() + " " + type + " " + version);
                print(type + " " + version + " ", schemas[version]);
            }
        }
    }

    private static void print(String place, Schema schema) {
        for (BoundField field : schema.fields()) {
            if (field.def.type instanceof TaggedFields tags) {
                tags.fields().forEach((tag, tagged) -> print(place, tagged.name, tag, tagged.type));
            } else {
                print(place, field.def.name, -1, field.def.type);
            }
        }
    }

    private static void print(String place, String name, int tag, Type type) {
        Type element = type.arrayElementType().orElse(type);
        boolean isStruct = element instanceof Schema;
        String kind = isStruct ? "STRUCT" : element.toString().replace("COMPACT_", "").replace("NULLABLE_", "");
        System.out.println("FIELD " + place + name + " " + tag + " " + kind + " " + type.isArray() + " " + type.isNullable());
        if (isStruct) {
            print(place + name + ".", (Schema) element);
        }
    }
}
