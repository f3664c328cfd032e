"""The page and the route that explain a configuration of MirrorMaker 2."""

import html
import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from console.clusters.models import Broker
from console.replication.flows.mirror_graph import MOST_CLUSTERS, draw_graph
from jobs.replication.mirror_config.read.text_input import MOST_BYTES
from tests.console.making import NOW, make_cluster, make_topic
from tests.console.replication.flow_form import flow_form

pytestmark = pytest.mark.django_db
GOOD = "clusters=A,B\nA.bootstrap.servers=a:1\nB.bootstrap.servers=b:1\nA->B.enabled=true\n"
SECRET = f'{GOOD}A.sasl.jaas.config=x.LoginModule required password="hunter2";\nB.ssl.key.password=hunter2\n'
PAGE = "/replication/mirror-config/"
ROUTE = "/api/v1/mirror-config/"


@pytest.fixture
def as_viewer(sign_in, viewer):
    return sign_in(viewer)


def shown(client, **values):
    answer = client.post(PAGE, values)
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def upload(content: bytes, name="mm2.properties"):
    return SimpleUploadedFile(name, content)


def asked(client, **body):
    return client.post(ROUTE, json.dumps(body), content_type="application/json")


def test_effective_values_are_shown_with_their_origin(as_viewer):
    text = shown(as_viewer, text=GOOD)
    assert "source.cluster.bootstrap.servers" in text
    assert "pasted:2: A.bootstrap.servers" in text
    assert "offset.lag.max" not in text.partition("exports-title")[0]


def test_values_that_nobody_set_are_shown_on_request_and_can_be_filtered(as_viewer):
    text = shown(as_viewer, text=GOOD, with_defaults="on", words="lag.max")
    assert "offset.lag.max" in text
    assert "<code>refresh.topics.enabled</code>" not in text


def test_findings_say_what_to_do(as_viewer):
    text = shown(as_viewer, text=f"{GOOD}topics=*\n")
    assert "is not a regular expression" in text
    assert "For any name write .*" in text


def test_a_file_is_read_like_a_text(as_viewer):
    assert "mm2.properties:2" in shown(as_viewer, file=upload(GOOD.encode()))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        pytest.param({}, "Paste a configuration", id="nothing"),
        pytest.param({"text": "hello"}, "clusters", id="garbage"),
        pytest.param({"file": (b"\x00\x01", "x")}, "not a text file", id="bytes"),
        pytest.param(
            {"file": ("clusters=a".encode("utf-16"), "x")}, "UTF-16", id="another encoding"
        ),
        pytest.param({"file": (b'{"a": "\xff"}', "x")}, "not UTF-8", id="broken UTF-8"),
        pytest.param({"text": "x" * (MOST_BYTES + 1)}, "at most", id="a text too large"),
        pytest.param({"file": (b"x" * (MOST_BYTES + 1), "x")}, "at most", id="a file too large"),
        pytest.param({"text": GOOD, "flow": "A->C"}, "no flow A->C", id="no such flow"),
    ],
)
def test_what_cannot_be_read_is_said_at_its_field(as_viewer, values, words):
    values = {k: upload(*v) if isinstance(v, tuple) else v for k, v in values.items()}
    text = shown(as_viewer, **values)
    assert words in text.partition("errorlist")[2][:400]
    assert "findings-title" not in text


def test_a_large_upload_never_touches_a_disk(as_viewer, settings, tmp_path):
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path / "missing")
    assert "at most" in shown(as_viewer, file=upload(b"x" * (4 * MOST_BYTES)))


def test_no_secret_comes_back(as_viewer):
    for values in ({"file": upload(SECRET.encode())}, {"text": SECRET}):
        text = shown(as_viewer, **values, with_defaults="on")
        assert "hunter2" not in text
        assert "(secret)" in text
    assert "hunter2" not in shown(as_viewer, text="hunter2 is no configuration")
    answer = asked(as_viewer, files=[{"text": SECRET}]).content.decode()
    assert "hunter2" not in answer


def test_nothing_is_stored(as_viewer, django_assert_max_num_queries):
    with django_assert_max_num_queries(13) as captured:
        shown(as_viewer, text=SECRET)
    written = [q["sql"] for q in captured if q["sql"].split()[0] in {"INSERT", "UPDATE", "DELETE"}]
    assert not [sql for sql in written if "django_session" not in sql]


def test_a_form_without_its_token_is_refused(viewer):
    client = Client(enforce_csrf_checks=True)
    client.force_login(viewer)
    assert client.post(PAGE, {"text": GOOD}).status_code == 403


def test_htmx_gets_the_explanation_only(as_viewer):
    answer = as_viewer.post(PAGE, {"text": GOOD}, headers={"HX-Request": "true"})
    text = answer.content.decode()
    assert "<html" not in text
    assert "findings-title" in text


def test_other_forms_are_offered(as_viewer):
    text = shown(as_viewer, text=GOOD)
    for words in ("MirrorSourceConnector", "kind: KafkaMirrorMaker2", "bootstrap_servers: a:1"):
        assert words in text


def test_brokers_and_topics_of_registered_clusters_are_taken_into_account(as_viewer):
    source, target = make_cluster("A"), make_cluster("B")
    Broker.objects.create(
        cluster=target, broker_id=1, host="b", port=1, is_live=True, changed_at=NOW
    )
    make_topic(source, "B.orders")
    text = shown(as_viewer, text=GOOD)
    assert "but B has 1 broker" in text
    assert "B.orders on A begins with the alias of the target" in text


def test_the_route_answers_the_same_as_the_command(as_viewer):
    answer = asked(as_viewer, files=[{"name": "mm2.properties", "text": GOOD}], flow="A->B")
    assert answer.status_code == 200
    body = answer.json()
    assert [flow["flow"] for flow in body["flows"]] == ["A->B"]
    source = body["flows"][0]["connectors"][0]
    assert source["config"]["enabled"]["origin"] == "mm2.properties:4: A->B.enabled"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        pytest.param({"files": [{"text": "hello"}]}, "files", id="garbage"),
        pytest.param({"files": []}, "files", id="no file"),
        pytest.param({}, "files", id="nothing"),
        pytest.param({"files": [{"text": GOOD}], "flow": "A->C"}, "flow", id="no such flow"),
        pytest.param({"files": [{"text": GOOD}], "nonsense": 1}, "nonsense", id="unknown field"),
    ],
)
def test_the_route_names_the_field_at_fault(as_viewer, body, field):
    answer = asked(as_viewer, **body)
    assert answer.status_code == 400
    assert [name.partition(".")[0] for name in answer.json()["fields"]] == [field]


def test_policies_are_told_from_the_topics_of_a_cluster(as_viewer):
    west = make_cluster("west")
    for name in ("east.checkpoints.internal", "east.orders"):
        make_topic(west, name)
    (found,) = as_viewer.get("/api/v1/naming-policies/?cluster=west").json()
    assert (found["policy"], found["sources"], found["sureness"]) == (
        "default",
        ["east"],
        "certain",
    )
    assert found["evidence"][0]["topic"] == "east.checkpoints.internal"


def test_policies_of_no_cluster_are_not_there(as_viewer):
    assert as_viewer.get("/api/v1/naming-policies/?cluster=nowhere").status_code == 404


def test_policies_on_the_target_are_shown_where_a_flow_is_made(sign_in, operator):
    make_cluster("east")
    west = make_cluster("west")
    for name in ("east.checkpoints.internal", "east.orders"):
        make_topic(west, name)
    client = sign_in(operator)
    form = html.unescape(client.get(reverse("replication:new")).content.decode())
    assert "policy_remote_topic" in form
    values = flow_form(topics=".*")
    text = html.unescape(client.post(reverse("replication:preview"), values).content.decode())
    assert "groups of east are translated here" in text


def test_a_picture_has_a_place_for_each_cluster_and_an_arrow_for_each_flow():
    flows = [
        {"source": "a", "target": "b", "copies": True},
        {"source": "b", "target": "a", "copies": False},
    ]
    graph = draw_graph({"clusters": ["a", "b"], "flows": flows})
    there, back = graph.edges
    assert len({(node.x, node.y) for node in graph.nodes}) == 2
    assert there.x1 < there.x2
    assert back.x1 > back.x2
    assert there.y1 != back.y1
    assert all(0 < node.x < graph.width and 0 < node.y < graph.height for node in graph.nodes)


def test_too_many_clusters_are_told_as_words():
    aliases = [f"c{number}" for number in range(MOST_CLUSTERS + 1)]
    flows = [{"source": "c0", "target": "c1", "copies": True}]
    graph = draw_graph({"clusters": aliases, "flows": flows})
    assert (graph.nodes, graph.clusters, len(graph.edges)) == ((), MOST_CLUSTERS + 1, 1)
