"""Imports of uploaded log folders: unpack within limits, archive, fold later; remove."""

from __future__ import annotations

import re
import shutil
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from console.accounts.asked_rights import rights_asked
from console.accounts.audit import audit, change
from console.clusters.models import Cluster
from console.frame.errors import ActionRefused
from console.quorum.log.archives import archive_of
from console.quorum.log.gaps import Gaps, with_damages
from console.quorum.log.imports import WAITING
from console.quorum.models import IMPORT_PREFIX, MetadataLog, Source
from console.quorum.tasks import fold_import
from jobs.quorum.log.archive import LogArchive
from jobs.quorum.log.archive_manifest import read_manifest
from jobs.quorum.log.importer import NotALogFolder, import_folder
from jobs.quorum.log.uploads import LOG_FOLDER, UploadLimits, UploadRefused, unpack_upload

# An archive of small size may expand to a disk full of zeros.
LIMITS = UploadLimits(total_bytes=4 << 30, entries=20_000)
# The folder of an import that has no row yet.
INCOMING = "incoming-"
_LONGEST_IMPORT_S = 86_400.0
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,80}")


@change("quorum.import")
def import_log(
    name: str, title: str, upload: Path, now: datetime, user: Any = None, file_name: str = ""
) -> MetadataLog:
    """Make an imported log of an upload; its history is there soon after. Raises `ActionRefused`.

    `name` becomes its address behind an underscore, which no cluster's alias begins with. `file_name` is
    what the file is called where it comes from.
    """
    if not _NAME.fullmatch(name):
        text = "Letters, digits, - and _, beginning with a letter or digit."
        raise ActionRefused("invalid", text, {"name": text})
    if MetadataLog.objects.filter(name=f"{IMPORT_PREFIX}{name}").exists():
        raise _name_taken(name)
    _refuse_taken("title" if title else "name", title or name)
    # The files are written before the row: a transaction that waits for a disk keeps all others waiting.
    taken = _take(upload, file_name or upload.name)
    try:
        with transaction.atomic():
            log = MetadataLog.objects.create(
                name=f"{IMPORT_PREFIX}{name}",
                title=title or name,
                source=Source.IMPORT,
                created_at=now,
                lost=WAITING,
                damage=_damage_of(taken),
                asked_by=user,
                asked_with=rights_asked(user),
            )
            # What a commit that failed has left there under the same id.
            shutil.rmtree(archive_of(log), ignore_errors=True)
            taken.rename(archive_of(log))
            audit("quorum.import", f"quorum:{log.name}", after={"title": log.title})
            transaction.on_commit(lambda: fold_import.delay(log.pk))
    except IntegrityError:
        raise _name_taken(name) from None
    except OSError as error:
        raise _not_written(error) from None
    finally:
        shutil.rmtree(taken, ignore_errors=True)
    return log


def _damage_of(archive: Path) -> Gaps:
    manifest = read_manifest(archive)
    return with_damages([], (one.damage for one in manifest.damaged)) if manifest else []


def _name_taken(name: str) -> ActionRefused:
    text = f"An imported log {name} exists already. Choose another name."
    return ActionRefused("name_taken", text, {"name": text})


def _refuse_taken(field: str, title: str) -> None:
    """Refuse what a cluster or another imported log is called: both are in the same lists."""
    text = ""
    if Cluster.objects.filter(alias__iexact=title).exists():
        text = f"A cluster has the alias {title}. Choose another {field}, for example {title}-incident."
    elif MetadataLog.objects.filter(cluster=None, title__iexact=title).exists():
        text = f"Another imported log has the title {title}. Choose another {field}."
    if text:
        raise ActionRefused("name_taken", text, {field: text})


@change("quorum.read_import")
def read_again(log: MetadataLog, user: Any = None) -> None:
    """Read an imported log once more from its archive; what is stored stays. Raises `ActionRefused`."""
    if not log.is_imported:
        raise ActionRefused("not_imported", f"{log.name} is a cluster: its log is followed.")
    with transaction.atomic():
        audit("quorum.read_import", f"quorum:{log.name}")
        log.lost, log.error, log.failing_since = WAITING, "", None
        log.asked_by, log.asked_with = user, rights_asked(user)
        log.save(update_fields=["lost", "error", "failing_since", "asked_by", "asked_with"])
        transaction.on_commit(lambda: fold_import.delay(log.pk))


@change("quorum.forget_import")
def forget_import(log: MetadataLog) -> None:
    """Remove an imported log with its history and its archive; raises `ActionRefused` for a cluster's."""
    if not log.is_imported:
        text = f"{log.name} is a registered cluster: its log is removed with the cluster."
        raise ActionRefused("not_imported", text)
    folder = archive_of(log)
    with transaction.atomic():
        audit("quorum.forget_import", f"quorum:{log.name}", before={"title": log.title})
        log.delete()
        # Ids are never reused: files left by a full disk or a crash do no harm.
        transaction.on_commit(lambda: _remove(folder))


def _remove(folder: Path) -> None:
    """Remove an archive, and the tables that Spark made of it."""
    from jobs.spark.analyses.metadata.log_history import forget_history

    forget_history(Path(settings.CROSSLOG_ARCHIVE) / "histories", folder)
    shutil.rmtree(folder, ignore_errors=True)


def _take(upload: Path, file_name: str) -> Path:
    """Put the upload's segments and snapshots into an archive of its own; nothing stays of a refused one."""
    archives = archive_of(MetadataLog()).parent
    _remove_left_over(archives)
    folder = archives / f"{INCOMING}{uuid4().hex}"
    unpacked = folder.with_name(f"{folder.name}.unpacked")
    try:
        source = unpack_upload(upload, unpacked, LIMITS)
        with LogArchive(folder) as archive:
            import_folder(source, archive, now_ms=int(timezone.now().timestamp() * 1000))
    except (UploadRefused, NotALogFolder) as refusal:
        shutil.rmtree(folder, ignore_errors=True)
        text = _with_own_name(str(refusal), unpacked, upload, file_name)
        raise ActionRefused("upload_refused", text, {"file": text}) from None
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise _not_written(error) from None
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(unpacked, ignore_errors=True)
    return folder


def _remove_left_over(archives: Path) -> None:
    """Remove what imports left that were killed: none takes a day."""
    for old in archives.glob(f"{INCOMING}*"):
        with suppress(OSError):
            if time.time() - old.stat().st_mtime > _LONGEST_IMPORT_S:
                shutil.rmtree(old, ignore_errors=True)


def _not_written(error: OSError) -> ActionRefused:
    text = f"The log could not be written to the archive: {error.strerror or type(error).__name__}."
    return ActionRefused("not_written", text, {"file": text})


def _with_own_name(text: str, unpacked: Path, upload: Path, file_name: str) -> str:
    """Put the name that a file has where it comes from in place of the server's own."""
    for own in (str(unpacked / LOG_FOLDER), str(unpacked), str(upload), upload.name):
        text = text.replace(own, file_name)
    return text
