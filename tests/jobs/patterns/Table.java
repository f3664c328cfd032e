import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/** Says of every pattern which of the names it matches as a whole: hexadecimal UTF-8 lines in, a line each out. */
public class Table {
    public static void main(String[] arguments) throws Exception {
        List<String> names = read(arguments[0]);
        for (String text : read(arguments[1])) {
            StringBuilder line = new StringBuilder();
            try {
                Pattern pattern = Pattern.compile(text);
                for (String name : names) {
                    line.append(pattern.matcher(name).matches() ? '1' : '0');
                }
            } catch (PatternSyntaxException | StringIndexOutOfBoundsException refused) {
                line.setLength(0);
                line.append("refused");
            } catch (StackOverflowError tooDeep) {
                line.setLength(0);
                line.append("overflow");
            }
            System.out.println(line);
        }
    }

    private static List<String> read(String file) throws Exception {
        List<String> found = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(file))) {
            byte[] bytes = new byte[line.length() / 2];
            for (int i = 0; i < bytes.length; i++) {
                bytes[i] = (byte) Integer.parseInt(line.substring(2 * i, 2 * i + 2), 16);
            }
            found.add(new String(bytes, StandardCharsets.UTF_8));
        }
        return found;
    }
}
