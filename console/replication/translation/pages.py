"""The page of offset translation: one offset in the address, or a pasted or uploaded list."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from console.frame.pages.forms import ActionForm
from console.frame.pages.render import render_page
from console.frame.pages.uploads import LARGEST_UPLOAD_BYTES, is_too_large
from console.frame.security.access import page
from console.replication.flows import queries
from console.replication.flows.models import ReplicationFlow
from console.replication.flows.page_context import analyses_of, around_flow, find_flow
from console.replication.translation.limits import limits_of
from console.replication.translation.translator import open_flow_translator
from console.replication.translation.workbench import (
    DIRECTIONS,
    FORWARD,
    REVERSE,
    Translation,
    to_csv,
    translate_all,
    translate_one,
)
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import InvalidFields
from jobs.replication.translation.questions import (
    HIGHEST_OFFSET,
    HIGHEST_PARTITION,
    Question,
    Questions,
    parse_questions,
)

MOST_SHOWN = 500
_MIB = LARGEST_UPLOAD_BYTES // 1024 // 1024
TOO_LARGE = f"The file is larger than {_MIB} MiB and was not read. Split the list."


def _direction() -> forms.ChoiceField:
    labels = ("Source to target", "Target to source")
    return forms.ChoiceField(choices=tuple(zip(DIRECTIONS, labels, strict=True)), initial=FORWARD)


class OneForm(ActionForm):
    """One offset, as in the address."""

    direction = _direction()
    topic = forms.CharField(
        max_length=249, help_text="Its name on the cluster that the offset belongs to."
    )
    partition = forms.IntegerField(min_value=0, max_value=HIGHEST_PARTITION, initial=0)
    offset = forms.IntegerField(min_value=0, max_value=HIGHEST_OFFSET)


class ListForm(ActionForm):
    """A list of offsets."""

    direction = _direction()
    text = forms.CharField(
        label="Offsets",
        required=False,
        max_length=LARGEST_UPLOAD_BYTES,
        help_text="CSV (topic,partition,offset or group,topic,partition,offset), JSON, or a file of the "
        "folder offsets/ "
        "of a Spark checkpoint.",
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false", "class": "mono"}),
    )
    file = forms.FileField(
        label="Or a file",
        required=False,
        help_text=f"At most {LARGEST_UPLOAD_BYTES // 1024 // 1024} MiB of text.",
    )

    def given(self) -> str:
        """Return the list as text; raises `InvalidFields` naming what is wrong with it."""
        upload = self.cleaned_data["file"]
        if upload is None:
            if not str(self.cleaned_data["text"]).strip():
                raise InvalidFields({"text": "Paste a list of offsets, or choose a file."})
            return str(self.cleaned_data["text"])
        try:
            return str(upload.read().decode("utf-8"))
        except UnicodeDecodeError as error:
            raise InvalidFields(
                {"file": f"Byte {error.start} is not UTF-8: the file is not text."}
            ) from None


@require_http_methods(["GET", "POST"])
@page("view", queries.where)
def translate_page(request: HttpRequest, flow_id: int) -> HttpResponse:
    """Show translated offsets and their evidence; no offset is changed."""
    flow = find_flow(flow_id)
    one = OneForm(request.GET if "topic" in request.GET else None)
    many = ListForm(request.POST or None, request.FILES or None)
    context: dict[str, Any] = {"one": one, "many": many, "analyses": analyses_of(flow)}
    if request.method == "POST":
        if is_too_large(request):
            many = ListForm({"direction": FORWARD})
            many.is_valid()
            many.add_error("file", TOO_LARGE)
            context["many"] = many
        elif many.is_valid():
            answered = _answer_list(flow, many)
            if "csv" in request.POST and answered.get("rows"):
                return _csv(flow, answered["rows"])
            context |= answered
    elif one.is_bound and one.is_valid():
        context |= _answer_one(flow, one)
    rows = context.get("rows") or []
    context |= {"shown": rows[:MOST_SHOWN], "row_count": len(rows)}
    around = around_flow(request, flow, "checkpoints")
    return render_page(request, "replication/translation/page.html", {**around, **context})


def _answer_one(flow: ReplicationFlow, form: OneForm) -> dict[str, Any]:
    values = form.cleaned_data
    where = TopicPartition(values["topic"].strip(), values["partition"])
    question, direction = Question(1, where, values["offset"]), values["direction"]
    limits = limits_of(flow, [where], is_reverse=direction == REVERSE)
    translator = open_flow_translator(flow)
    try:
        return {"answer": translate_one(flow, translator, question, direction, limits)}
    except InvalidFields as invalid:
        form.take_errors(invalid.errors)
        return {}


def _answer_list(flow: ReplicationFlow, form: ListForm) -> dict[str, Any]:
    try:
        read = parse_questions(form.given())
    except InvalidFields as invalid:
        form.take_errors(invalid.errors)
        return {}
    if not read.questions:
        form.add_error("text", _first_problem(read))
        return {"read": read}
    direction = form.cleaned_data["direction"]
    asked = {question.where for question in read.questions}
    limits = limits_of(flow, asked, is_reverse=direction == REVERSE)
    translator = open_flow_translator(flow)
    rows = translate_all(flow, translator, read.questions, direction, limits)
    return {"read": read, "rows": rows, "exact": sum(row.exact for row in rows)}


def _first_problem(read: Questions) -> str:
    """Return why no offset could be read."""
    first = read.problems[0]
    return f"Line {first.line}: {first.text}" if first.line else first.text


def _csv(flow: ReplicationFlow, rows: list[Translation]) -> HttpResponse:
    answer = HttpResponse(to_csv(rows), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="flow-{flow.pk}-offsets.csv"'
    return answer
