"""Pages of the help."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from console.frame.help.chapters import CHAPTERS, docs_folder
from console.frame.help.rendering import FILES, read_chapter
from console.frame.pages.render import render_page
from console.frame.security.access import page


@require_safe
@page("own")
def list_chapters(request: HttpRequest) -> HttpResponse:
    """Show all chapters with their sections."""
    chapters = [(name, read_chapter(docs_folder() / f"{name}.md")) for name in CHAPTERS]
    return render_page(request, "frame/help/list.html", {"chapters": chapters})


@require_safe
@page("own")
def chapter(request: HttpRequest, chapter: str) -> HttpResponse:
    """Show a chapter."""
    if chapter not in CHAPTERS:
        raise Http404
    read = read_chapter(docs_folder() / f"{chapter}.md")
    return render_page(request, "frame/help/chapter.html", {"chapter": read})


@require_safe
@page("own")
def file(request: HttpRequest, file_name: str) -> HttpResponse:
    """Serve a picture, or a file that a chapter offers."""
    path = docs_folder() / file_name
    if path.suffix not in FILES or path not in docs_folder().iterdir():
        raise Http404
    return HttpResponse(path.read_bytes(), content_type=FILES[path.suffix])
