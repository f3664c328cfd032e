"""Templates that are not rendered yet are refused at the line that says so."""

import pytest

from jobs.replication.mirror_config.read.configuration import read_config
from jobs.replication.mirror_config.read.text_input import BadInput, InputFile

HEAD = "apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaMirrorMaker2\n"
SPEC = """spec:
  connectCluster: b
  clusters:
  - {alias: a, bootstrapServers: "a:1"}
  - {alias: b, bootstrapServers: "b:1"}
  mirrors:
  - {sourceCluster: a, targetCluster: b, sourceConnector: {}}
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param(f"{HEAD}metadata:\n  name: {{{{ .Values.name }}}}\n{SPEC}", 4, id="a value"),
        pytest.param(
            f"{{{{- if .Values.on }}}}\n{HEAD}{SPEC}{{{{- end }}}}\n", 1, id="a condition"
        ),
        pytest.param(f"{HEAD}# {{{{ x }}}}\n{{% if on %}}\n{SPEC}", 4, id="Jinja behind a comment"),
        pytest.param(HEAD + SPEC.replace('"a:1"', '"{{ .Values.a }}"'), 6, id="a quoted value"),
        pytest.param(
            HEAD + SPEC.replace("connectCluster: b", 'connectCluster: "{{ b }}"'),
            4,
            id="a quoted name",
        ),
        pytest.param("# of Ansible\nclusters = {{ a }}, b\n", 2, id="properties"),
        pytest.param("clusters = a, b\n{{ a }}.bootstrap.servers = a:1\n", 2, id="a key"),
        pytest.param('[\n{"name": {{ name }}}]', 2, id="JSON"),
        pytest.param("{{ toJson .Values.connector }}", 1, id="nothing else"),
    ],
)
def test_a_template_is_reported_with_its_first_line(text, line):
    with pytest.raises(
        BadInput, match=rf"^Line {line} holds \{{[{{%]: this is a template"
    ) as caught:
        read_config([InputFile("file", text.encode())])
    assert "Render it first" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            f"{HEAD}{SPEC}---\nkind: ConfigMap\ndata:\n  board: |\n    {{{{ instance }}}}\n",
            id="a dashboard",
        ),
        pytest.param(f"# {{{{ x }}}}\n{HEAD}{SPEC}", id="a comment"),
        pytest.param(
            "clusters = a, b\na->b.enabled = true\na->b.transforms.x.name = {{topic}}\n",
            id="a setting of a transformation",
        ),
    ],
)
def test_braces_that_are_no_template_are_read(text):
    assert read_config([InputFile("file", text.encode())]).flows


def test_yaml_that_is_broken_otherwise_keeps_its_message():
    with pytest.raises(BadInput, match=r"^Line 4, column 1: expected"):
        read_config([InputFile("file", f"{HEAD}spec: [\n".encode())])
