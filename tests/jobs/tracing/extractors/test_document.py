"""The document of extractors names what there is, and its example is one."""

from pathlib import Path

import yaml

from jobs.tracing.extractors.extractor import Extractor
from jobs.tracing.extractors.forms import FORMS
from jobs.tracing.extractors.presets import PRESETS
from jobs.tracing.extractors.roles import ROLES

TEXT = (Path(__file__).parents[4] / "docs" / "tracing.md").read_text("utf-8")


def test_the_document_names_all_forms_roles_and_presets():
    missing = [name for name in (*FORMS, *ROLES, *PRESETS) if f"`{name}`" not in TEXT]
    assert missing == []


def test_the_example_of_the_document_is_an_extractor():
    example = TEXT.partition("```yaml\n")[2].partition("```")[0]
    assert Extractor.from_mapping(yaml.safe_load(example)).preset == "spring-dlt"
