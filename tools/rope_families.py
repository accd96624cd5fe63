"""Make the table of what each release of transformers does with the rotary positions of each model type.

    python tools/rope_families.py transformers-*.whl > src/ruleout/audit/rope/families.json

The wheels are those of https://pypi.org/project/transformers/: one of each release that the audit knows the rules of.
Their sources are parsed, never run. What all model types have in common is in `ruleout.audit.rope`; here is what
differs: defaults, which part of a head is rotated, whether pairs are interleaved, and which keys are read at all.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_VERSION = re.compile(r"transformers-(\d+\.\d+)[\d.]*-")
_CONFIGURATION = re.compile(r"transformers/models/(\w+)/configuration_\w+\.py")
_GENERATES = re.compile(r"ForCausalLM$|ForConditionalGeneration$|LMHeadModel$")
_NO_TEXT = re.compile(r"vision|audio|encoder|video|sam\d?_|_code_predictor|codec|talker|_depth")
_SIZES = (
    "hidden_size",
    "num_attention_heads",
    "head_dim",
    "max_position_embeddings",
    "qk_rope_head_dim",
    "original_max_position_embeddings",
)
_SLICES = re.compile(r"\brot(?:ary)?_dim = cos\.shape\[-1\]|\[\.\.\., :self\.rotary_ndims\]")
"""How attention takes the part of a head that is turned: as wide as the cosines, or by the share they are made of."""
_INFRASTRUCTURE = re.compile(r"^_|^to_|^get_|use_return|^return_|output_|gradient|_token_id$|^use_cache$")


def families(wheel: Path) -> dict[str, dict[str, Any]]:
    """By model type, what this release does with it."""
    found: dict[str, dict[str, Any]] = {}
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        for name in sorted(names):
            if not _CONFIGURATION.fullmatch(name):
                continue
            modeling = name.replace("/configuration_", "/modeling_")
            if modeling not in names:
                continue
            model = ast.parse(archive.read(modeling))
            if not any(_GENERATES.search(class_.name) for class_ in _classes(model)):
                continue
            for class_ in _classes(ast.parse(archive.read(name))):
                kind = _constant(class_, "model_type")
                if (
                    isinstance(kind, str)
                    and not _NO_TEXT.search(kind)
                    and (rotary := _rotary(model, class_.name)) is not None
                ):
                    found[kind] = _family(class_, model, rotary)
    return found


def _family(config: ast.ClassDef, model: ast.Module, rotary: ast.ClassDef) -> dict[str, Any]:
    """What is not as with most model types."""
    defaults, text = _defaults(config), ast.unparse(config)
    told: dict[str, Any] = {}
    theta = _constant(config, "default_theta") or defaults.get("rope_theta")
    if theta not in (None, 10000, 10000.0):
        told["theta"] = theta
    for key in ("rope_scaling", "rope_parameters"):
        if isinstance(defaults.get(key), dict):
            told["parameters"] = defaults[key]
    if given := _parameters_where_none(config):
        told["parameters"] = given
    own = _function(rotary, "compute_default_rope_parameters")
    body = ast.unparse(own) if own else ""
    told |= {
        name: True for name, words in (("partial", "partial_rotary_factor"), ("nested", "layer_type]")) if words in body
    }
    told |= {"layers": True} if "layer_types" in defaults else {}
    share = re.search(r"setdefault\('partial_rotary_factor', ([\d.]+)\)|\['partial_rotary_factor'\] = ([\d.]+)", text)
    if share or isinstance(defaults.get("partial_rotary_factor"), float):
        told["share"] = float(share[1] or share[2]) if share else defaults["partial_rotary_factor"]
    if cut := _SLICES.search(ast.unparse(model)):
        told["slices"] = True
        told |= {"shares": True} if "rotary_ndims" in cut[0] else {}
    if head := re.search(r"self\.head_dim = (?:self\.)?(qk_\w+)\n", text + "\n"):
        told["head"] = head[1]
        told |= {} if "head_dim" in defaults else {"given": True}
    elif re.search(r"self\.head_dim = .*(?:hidden_size // |// self\.num_attention_heads)", text):
        told["fills"] = True
    elif defaults.get("head_dim", ...) is None:
        told["bare"] = True
    if (own := _function(config, "convert_rope_params_to_dict")) is not None:
        told["custom"] = _custom(ast.unparse(own))
    elif "len(self.rope_scaling) != 3" in text:
        told["custom"] = "su"
    elif "rope_local_base_freq" in defaults:
        told["custom"] = "two"
        told["theta"] = {"global": defaults["rope_theta"], "local": defaults["rope_local_base_freq"]}
    if "self.hidden_size % self.num_attention_heads != 0" in text:
        told["divides"] = True
    written = ast.unparse(model)
    if "getattr(config, 'head_dim', None) or" in "".join(ast.unparse(c) for c in _classes(model) if c is not rotary):
        told["heals"] = True
    if re.search(r"scaling_factor = (self\.)?config\.rope_(parameters|scaling)\['factor'\]", written):
        told["factor"] = True
    told |= {"mscale": True} if "mscale_all_dim" in written else {}
    told["pairs"] = _pairs(model)
    told["sizes"] = {key: defaults[key] for key in _SIZES if defaults.get(key) is not None}
    if any("strict" in ast.unparse(decorator) for decorator in config.decorator_list):
        told["types"] = _types(config)
    told["reads"] = " ".join(sorted(_reads(model)))
    return told


def _custom(text: str) -> str:
    """How a configuration that has its own way of it takes its rotary parameters; `other`: in no way known here."""
    ways = {"float(self.rope_parameters": "floats", "== 'mrope'": "mrope", "['su', 'yarn']": "su"}
    ways |= {"'rope_local_base_freq'": "two", "local_rope_theta": "two-scaled"}
    return next((way for words, way in ways.items() if words in text), "other")


def _classes(module: ast.Module) -> Iterator[ast.ClassDef]:
    return (node for node in module.body if isinstance(node, ast.ClassDef))


def _rotary(model: ast.Module, config: str) -> ast.ClassDef | None:
    """The class of rotary positions that is made from that configuration."""
    for class_ in _classes(model):
        begin = _function(class_, "__init__")
        if re.search(r"RotaryEmbedding$|RotaryPositionalEmbedding$", class_.name) and begin is not None:
            taken = [ast.unparse(a.annotation) for a in begin.args.args if a.annotation is not None]
            if config in taken or config.replace("TextConfig", "Config") in taken:
                return class_
    return None


def _function(class_: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((node for node in class_.body if isinstance(node, ast.FunctionDef) and node.name == name), None)


def _constant(class_: ast.ClassDef, name: str) -> Any:
    for node in class_.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if any(isinstance(target, ast.Name) and target.id == name for target in targets) and node.value is not None:
            return _literal(node.value)
    return None


def _literal(node: ast.expr) -> Any:
    if isinstance(node, ast.Call):  # interval(min=0.0)(default=0.02)
        node = next((word.value for word in node.keywords if word.arg == "default"), node)
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _defaults(config: ast.ClassDef) -> dict[str, Any]:
    """The arguments or fields of a configuration, with their defaults."""
    found = {n.target.id: _literal(n.value) for n in config.body if _is_field(n)}
    begin = _function(config, "__init__")
    if begin is not None:
        plain = begin.args.args[-len(begin.args.defaults) :] if begin.args.defaults else []
        found |= {a.arg: _literal(value) for a, value in zip(plain, begin.args.defaults, strict=True)}
        found |= {a.arg: _literal(v) for a, v in zip(begin.args.kwonlyargs, begin.args.kw_defaults, strict=True) if v}
    return found


def _is_field(node: ast.stmt) -> Any:
    return isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None


def _types(config: ast.ClassDef) -> dict[str, str]:
    """By type, the fields that are checked to be of it."""
    found: dict[str, list[str]] = {}
    for node in config.body:
        if _is_field(node):
            found.setdefault(ast.unparse(node.annotation).replace(" ", ""), []).append(node.target.id)
    return {kind: " ".join(names) for kind, names in sorted(found.items())}


def _parameters_where_none(config: ast.ClassDef) -> dict[str, Any] | None:
    """What a configuration without any rotary parameters gets."""
    for node in ast.walk(config):
        if isinstance(node, ast.If) and re.fullmatch(r"(self\.)?rope_parameters is None", ast.unparse(node.test)):
            for statement in node.body:
                if isinstance(statement, ast.Assign) and isinstance(told := _literal(statement.value), dict):
                    return told
    return None


def _pairs(model: ast.Module) -> str:
    """Which elements of a head are rotated together: `halves`, `interleaved`, or as `rope_interleave` says (`told`)."""
    text = "\n".join(ast.unparse(_without_words(node)) for node in model.body)
    if re.search(r"config\.rope_interleave\b", text):
        return "told"
    if re.search(r"apply_rotary_pos_emb_interleave\(|apply_rotary_emb\([^)]*freqs_cis|view_as_complex", text):
        return "interleaved"
    return "interleaved" if "repeat_interleave(2, dim=-1)" in text else "halves"


def _without_words(node: ast.stmt) -> ast.stmt:
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef | ast.ClassDef) and len(inner.body) > 1 and _is_words(inner.body[0]):
            inner.body = inner.body[1:]
    return node


def _is_words(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _reads(model: ast.Module) -> set[str]:
    """The keys of the configuration that the model's own code reads."""
    found = set()
    for node in ast.walk(model):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("config", "self.config"):
            found.add(node.attr)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "getattr" and len(node.args) > 1:
            name = _literal(node.args[1])
            if "config" in ast.unparse(node.args[0]) and isinstance(name, str):
                found.add(name)
    return {name for name in found if not _INFRASTRUCTURE.search(name)}


def main(wheels: list[Path]) -> None:
    """Print the table, a model type a line."""
    lines = []
    for wheel in sorted(wheels):
        version = _VERSION.match(wheel.name)
        if not version:
            raise SystemExit(f"{wheel}: not a wheel of transformers\n  Give wheels as pip downloads them.")
        told = [f'  "{kind}": {json.dumps(family)}' for kind, family in sorted(families(wheel).items())]
        lines.append(f'"{version[1]}": {{\n' + ",\n".join(told) + "\n}")
    sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
