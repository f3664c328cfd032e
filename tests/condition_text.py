"""What a condition asks and what its parts are now, for the message of a test that waited in vain."""

import ast
import inspect
import linecache
from collections.abc import Callable, Iterator
from typing import Any

LONGEST_REPR = 300


def short(value: object) -> str:
    """Return the start of a value's repr."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001  a message must not fail
        text = f"<no repr: {error!r}>"
    return text if len(text) <= LONGEST_REPR else f"{text[:LONGEST_REPR]}..."


def describe_condition(condition: Callable[[], object]) -> str:
    """Return the source of a lambda with the values of its parts, or the name of any other condition."""
    name = getattr(condition, "__qualname__", None) or repr(condition)
    body = lambda_body(condition)
    if body is None:
        return f"condition: {name}"
    lines = [f"condition: {ast.unparse(body)}"]
    names = _names_of(condition)
    seen = set()
    for part in parts_of(body):
        text = ast.unparse(part)
        if text not in seen:
            seen.add(text)
            lines.append(f"  {text} = {_value_of(part, names)}")
    return "\n".join(lines)


def lambda_body(condition: Any) -> ast.expr | None:
    """Return the expression of a lambda; None for what is none or has no source."""
    code = getattr(condition, "__code__", None)
    if code is None or code.co_name != "<lambda>":
        return None
    text = _text_of(code)
    try:
        return ast.parse(f"({text})", mode="eval").body if text else None
    except SyntaxError:
        return None


def _text_of(code: Any) -> str:
    """Return the text that the instructions of a lambda come from: positions are counted in bytes."""
    spans = [
        ((line, at), (last, end))
        for line, last, at, end in code.co_positions()
        if None not in (line, last, at, end) and (line, at) != (last, end)
    ]
    if not spans:
        return ""
    (first, at), (last, end) = min(one for one, _ in spans), max(one for _, one in spans)
    lines = [
        linecache.getline(code.co_filename, number).encode() for number in range(first, last + 1)
    ]
    if not all(lines):
        return ""
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][at:]
    return b"".join(lines).decode()


def _names_of(condition: Any) -> dict[str, object]:
    """Return what a lambda sees: globals, the variables around it, its defaults."""
    names = dict(condition.__globals__)
    for name, cell in zip(condition.__code__.co_freevars, condition.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not set yet
            continue
    arguments = inspect.signature(condition).parameters.values()
    return names | {one.name: one.default for one in arguments if one.default is not one.empty}


def parts_of(node: ast.expr) -> Iterator[ast.expr]:
    """Yield what a condition is decided by: operands, parts of and/or, what a call is given."""
    children: list[ast.expr] = []
    if isinstance(node, ast.Compare):
        children = [node.left, *node.comparators]
    elif isinstance(node, ast.BoolOp):
        children = node.values
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        children = [node.operand]
    elif isinstance(node, ast.Call):
        children = [_as_list(one) for one in node.args if _is_plain(one)]
    for child in children:
        if not isinstance(child, ast.Constant):
            yield child
            yield from parts_of(child)


def _is_plain(node: ast.expr) -> bool:
    """Whether an argument is worth to be asked for: a variable, or the values of `all` and `any`."""
    return isinstance(node, ast.Name | ast.Attribute | ast.GeneratorExp)


def _as_list(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.GeneratorExp):
        return ast.copy_location(ast.ListComp(node.elt, node.generators), node)
    return node


def _value_of(node: ast.expr, names: dict[str, object]) -> str:
    try:
        value = eval(compile(ast.Expression(node), "<condition>", "eval"), names)
    except Exception as error:  # noqa: BLE001  shown instead of a value
        return f"{type(error).__name__}: {error}"
    if inspect.iscoroutine(value):
        value.close()
    return short(value)
