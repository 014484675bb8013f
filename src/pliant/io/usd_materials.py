"""Materials of USD stages: UsdPreviewSurface shaders with the textures of a mesh, and their bindings to faces."""

from collections.abc import Iterator, Sequence

import numpy as np

from ..mesh import Mesh
from ..motion.clip import Clip
from .surfaces import RGB, ImageFiles, Surface, surfaces
from .usd_text import quoted, unique_words

SCOPE = "/World/Materials"
# texture -> outputs of its shader, and the inputs of the surface that they drive
_OUTPUTS = {
    "color": (("rgb", "diffuseColor"),),
    "metallic_roughness": (("b", "metallic"), ("g", "roughness")),
    "normal": (("rgb", "normal"),),
    "emission": (("rgb", "emissiveColor"),),
    "occlusion": (("r", "occlusion"),),
}
_TYPES = {"rgb": "float3", "diffuseColor": "color3f", "emissiveColor": "color3f", "normal": "normal3f"}


class Materials:
    """The materials of all clips of a stage: equal ones are written once, each under a name of its own."""

    def __init__(self, clips: Sequence[Clip], files: ImageFiles) -> None:
        self.files = files
        found = [surfaces(clip.mesh, clip.color) for clip in clips]
        distinct = {_key(surface): surface for listed in found for surface in listed}
        self.words = dict(zip(distinct, unique_words([surface.name for surface in distinct.values()], "material")))
        self.surfaces = distinct
        self._rows = {id(clip): [self.words[_key(surface)] for surface in listed] for clip, listed in zip(clips, found)}

    def definitions(self) -> Iterator[str]:
        """Yield the scope with all materials."""
        yield '    def Scope "Materials"\n    {\n'
        for key, surface in self.surfaces.items():
            yield from self._material(self.words[key], surface)
        yield "    }\n"

    def bindings(self, clip: Clip) -> Iterator[str]:
        """Yield the binding of a mesh with one material, or a subset of its faces for each of several."""
        words, mesh = self._rows[id(clip)], clip.mesh
        used = _used(mesh)
        if len(used) == 1:
            yield f"            rel material:binding = <{SCOPE}/{words[used[0]]}>\n"
            return
        assert mesh.material is not None
        yield '            uniform token subsetFamily:materialBind:familyType = "partition"\n'
        for k, name in zip(used, unique_words([words[k] for k in used], "material")):
            rows = ", ".join(map(str, np.flatnonzero(mesh.material == k).tolist()))
            yield f'            def GeomSubset "{name}" (\n'
            yield '                prepend apiSchemas = ["MaterialBindingAPI"]\n            )\n            {\n'
            yield '                uniform token elementType = "face"\n'
            yield '                uniform token familyName = "materialBind"\n'
            yield f"                int[] indices = [{rows}]\n"
            yield f"                rel material:binding = <{SCOPE}/{words[k]}>\n            }}\n"

    def _material(self, word: str, surface: Surface) -> Iterator[str]:
        path = f"{SCOPE}/{word}"
        pad = " " * 12
        yield f'        def Material "{word}" (\n            displayName = {quoted(surface.name)}\n'
        yield "        )\n        {\n"
        yield f"{pad}token outputs:surface.connect = <{path}/Surface.outputs:surface>\n"
        yield f'{pad}def Shader "Surface"\n{pad}{{\n{pad}    uniform token info:id = "UsdPreviewSurface"\n'
        driven = {into: (slot, out) for slot in surface.textures for out, into in _OUTPUTS[slot]}
        values: dict[str, RGB | float] = {
            "diffuseColor": surface.color,
            "emissiveColor": surface.emission,
            "metallic": surface.metallic,
            "opacity": surface.opacity,
            "opacityThreshold": surface.cutoff,
            "roughness": surface.roughness,
        }
        if "color" in surface.textures and surface.transparent:
            driven["opacity"] = ("color", "a")
        for name in sorted({*values, *driven}):
            kind = _TYPES.get(name, "float")
            if name in driven:
                slot, out = driven[name]
                yield f"{pad}    {kind} inputs:{name}.connect = <{path}/{slot}.outputs:{out}>\n"
            else:
                yield f"{pad}    {kind} inputs:{name} = {_value(values[name])}\n"
        yield f"{pad}    token outputs:surface\n{pad}}}\n"
        if surface.textures:
            yield f'{pad}def Shader "st"\n{pad}{{\n{pad}    uniform token info:id = "UsdPrimvarReader_float2"\n'
            yield f'{pad}    string inputs:varname = "st"\n{pad}    float2 outputs:result\n{pad}}}\n'
        for slot in surface.textures:
            yield from self._texture(path, slot, surface)
        yield "        }\n"

    def _texture(self, path: str, slot: str, surface: Surface) -> Iterator[str]:
        pad, raw = " " * 12, slot not in ("color", "emission")
        yield f'{pad}def Shader "{slot}"\n{pad}{{\n{pad}    uniform token info:id = "UsdUVTexture"\n'
        if slot == "normal":
            yield f"{pad}    float4 inputs:bias = (-1, -1, -1, 0)\n"
        yield f"{pad}    asset inputs:file = @./{self.files.reference(surface.textures[slot])}@\n"
        scale = _scale(slot, surface)
        if scale != (1.0, 1.0, 1.0, 1.0):
            yield f"{pad}    float4 inputs:scale = {_value(scale)}\n"
        yield f'{pad}    token inputs:sourceColorSpace = "{"raw" if raw else "sRGB"}"\n'
        yield f"{pad}    float2 inputs:st.connect = <{path}/st.outputs:result>\n"
        yield f'{pad}    token inputs:wrapS = "repeat"\n{pad}    token inputs:wrapT = "repeat"\n'
        outputs = {"a": "float"} if slot == "color" else {}
        outputs |= {out: _TYPES.get(out, "float") for out, _ in _OUTPUTS[slot]}
        for out, kind in outputs.items():
            yield f"{pad}    {kind} outputs:{out}\n"
        yield f"{pad}}}\n"


def _scale(slot: str, surface: Surface) -> tuple[float, ...]:
    """The factor of a texture, by which the colours and numbers of the material enter."""
    return {
        "color": (*surface.color, surface.opacity),
        "metallic_roughness": (1.0, surface.roughness, surface.metallic, 1.0),
        "normal": (2.0, 2.0, 2.0, 1.0),
        "emission": (*surface.emission, 1.0),
        "occlusion": (1.0, 1.0, 1.0, 1.0),
    }[slot]


def _key(surface: Surface) -> tuple[object, ...]:
    return (*surface[:-1], *sorted(surface.textures.items()))


def _used(mesh: Mesh) -> list[int]:
    """The rows of the materials that have faces."""
    return [0] if mesh.material is None or not mesh.materials else np.unique(mesh.material).tolist()


def _value(value: float | tuple[float, ...]) -> str:
    return f"({', '.join(f'{c:.9g}' for c in value)})" if isinstance(value, tuple) else f"{value:.9g}"
