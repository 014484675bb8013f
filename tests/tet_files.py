"""The same two tets in every file format that can hold them, written by hand here."""

import base64
import struct
import zlib

import numpy as np

X = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [0.5, 0.25, -0.125]], np.float64)
TETS = np.array([[0, 1, 2, 3], [1, 2, 3, 4]])  # node 5 is stray
TRIANGLES = np.array([[0, 2, 1], [0, 1, 3]])
LINES = np.array([[0, 1]])
TAGS = np.array([1, 2, 3, 5, 8, 13])  # Gmsh lets nodes have any numbers


def everything() -> dict[str, tuple[str, bytes]]:
    """name -> (extension, content). All hold X and TETS."""
    return {
        "gmsh 1": (".msh", gmsh_1()),
        "gmsh 2": (".msh", gmsh_2()),
        "gmsh 2 binary": (".msh", gmsh_2_binary("<")),
        "gmsh 2 big endian": (".msh", gmsh_2_binary(">")),
        "gmsh 4": (".msh", gmsh_4()),
        "gmsh 4 binary": (".msh", gmsh_4_binary("<")),
        "gmsh 4 big endian": (".msh", gmsh_4_binary(">")),
        "medit": (".mesh", medit()),
        "vtk": (".vtk", vtk_old(False)),
        "vtk binary": (".vtk", vtk_old(True)),
        "vtk 5": (".vtk", vtk_new(False)),
        "vtk 5 binary": (".vtk", vtk_new(True)),
        "vtu": (".vtu", vtu("ascii")),
        "vtu base64": (".vtu", vtu("binary")),
        "vtu base64 packed": (".vtu", vtu("binary", packed=True)),
        "vtu big endian": (".vtu", vtu("binary", order=">", wide=8)),
        "vtu raw": (".vtu", vtu("raw")),
        "vtu raw packed": (".vtu", vtu("raw", packed=True, wide=8)),
        "vtu appended": (".vtu", vtu("base64")),
        "vtu appended packed": (".vtu", vtu("base64", packed=True)),
        "tetgen": (".node", node(1)),
        "tetgen tets": (".ele", ele(1)),
    }


def rows(values: np.ndarray, before: object = "", after: object = "") -> str:
    return "".join(f"{before} {' '.join(map(repr, row))} {after}".strip() + "\n" for row in values.tolist())


def gmsh_1() -> bytes:
    nodes = "".join(f"{tag} {' '.join(map(repr, p))}\n" for tag, p in zip(TAGS.tolist(), X.tolist()))
    elements, number = [], 0
    for kind, block in ((1, LINES), (2, TRIANGLES), (4, TETS)):
        for row in TAGS[block].tolist():
            number += 1
            elements.append(f"{number} {kind} 1 1 {len(row)} {' '.join(map(str, row))}\n")
    return f"$NOD\n{len(X)}\n{nodes}$ENDNOD\n$ELM\n{number}\n{''.join(elements)}$ENDELM\n".encode()


def gmsh_2() -> bytes:
    nodes = "".join(f"{tag} {' '.join(map(repr, p))}\n" for tag, p in zip(TAGS.tolist(), X.tolist()))
    elements, number = ["1 15 2 0 1 1\n"], 1
    for kind, block in ((1, LINES), (2, TRIANGLES), (4, TETS)):
        for row in TAGS[block].tolist():
            number += 1
            elements.append(f"{number} {kind} {kind % 3} {'7 ' * (kind % 3)}{' '.join(map(str, row))}\n")
    names = '$PhysicalNames\n1\n3 1 "some $Nodes here"\n$EndPhysicalNames\n'
    text = f"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n{names}$Nodes\n{len(X)}\n{nodes}$EndNodes\n"
    return (text + f"$Elements\n{number}\n{''.join(elements)}$EndElements\n").encode()


def gmsh_2_binary(order: str) -> bytes:
    out = b"$MeshFormat\n2.2 1 8\n" + struct.pack(order + "i", 1) + b"\n$EndMeshFormat\n$Nodes\n%d\n" % len(X)
    out += b"".join(struct.pack(order + "i3d", tag, *p) for tag, p in zip(TAGS.tolist(), X.tolist()))
    out += b"\n$EndNodes\n$Elements\n5\n"
    number = 0
    for kind, block in ((1, LINES), (2, TRIANGLES), (4, TETS)):
        out += struct.pack(order + "3i", kind, len(block), 2)
        for row in TAGS[block].tolist():
            number += 1
            out += struct.pack(f"{order}{3 + len(row)}i", number, 0, 1, *row)
    return out + b"\n$EndElements\n"


def gmsh_4() -> bytes:
    """Two blocks of nodes, the first with parameters on a curve."""
    first = "".join(f"{t}\n" for t in TAGS[:2]) + rows(X[:2], after=0.5)
    second = "".join(f"{t}\n" for t in TAGS[2:]) + rows(X[2:])
    nodes = f"$Nodes\n2 {len(X)} 1 13\n1 1 1 2\n{first}3 1 0 {len(X) - 2}\n{second}$EndNodes\n"
    out, number = [], 0
    for dim, kind, block in ((1, 1, LINES), (2, 2, TRIANGLES), (3, 4, TETS)):
        out.append(f"{dim} 1 {kind} {len(block)}\n")
        for row in TAGS[block].tolist():
            number += 1
            out.append(f"{number} {' '.join(map(str, row))}\n")
    entities = "$Entities\n0 0 0 0\n$EndEntities\n"
    tail = "$Surface\n1\n1 2 3\n$EndSurface\n"
    elements = f"$Elements\n3 {number} 1 {number}\n{''.join(out)}$EndElements\n"
    return f"$MeshFormat\n4.1 0 8\n$EndMeshFormat\n{entities}{nodes}{elements}{tail}".encode()


def gmsh_4_binary(order: str) -> bytes:
    out = b"$MeshFormat\n4.1 1 8\n" + struct.pack(order + "i", 1) + b"\n$EndMeshFormat\n$Nodes\n"
    out += struct.pack(order + "4Q3iQ", 1, len(X), 1, 13, 3, 1, 0, len(X))
    out += TAGS.astype(order + "u8").tobytes() + X.astype(order + "f8").tobytes() + b"\n$EndNodes\n$Elements\n"
    out += struct.pack(order + "4Q", 3, 5, 1, 5)
    number = 0
    for dim, kind, block in ((1, 1, LINES), (2, 2, TRIANGLES), (3, 4, TETS)):
        out += struct.pack(order + "3iQ", dim, 1, kind, len(block))
        for row in TAGS[block].tolist():
            number += 1
            out += np.array([number, *row], order + "u8").tobytes()
    return out + b"\n$EndElements\n"


def medit() -> bytes:
    head = "# by hand\nMeshVersionFormatted 2\nDimension\n3\n"
    return (
        f"{head}Vertices\n{len(X)}\n{rows(X, after=0)}Triangles\n{len(TRIANGLES)}\n{rows(TRIANGLES + 1, after=3)}"
        f"Tetrahedra # the solid\n{len(TETS)}\n{rows(TETS + 1, after=1)}Edges\n1\n1 2 0\nEnd\n"
    ).encode()


def node(base: int) -> bytes:
    """With an attribute and a boundary mark."""
    lines = "".join(f"{k + base} {' '.join(map(repr, p))} 0.5 {k % 2}\n" for k, p in enumerate(X.tolist()))
    return f"# by hand\n{len(X)} 3 1 1\n{lines}# end\n".encode()


def ele(base: int) -> bytes:
    lines = "".join(f"{k + base} {' '.join(map(str, row))} 0.25\n" for k, row in enumerate((TETS + base).tolist()))
    return f"{len(TETS)} 4 1\n{lines}# end\n".encode()


CELLS = [*((3, row) for row in LINES.tolist()), *((10, row) for row in TETS.tolist()), (5, TRIANGLES[0].tolist())]


def vtk_old(binary: bool) -> bytes:
    size = sum(1 + len(row) for _, row in CELLS)
    head = f"# vtk DataFile Version 3.0\ntwo tets\n{'BINARY' if binary else 'ASCII'}\nDATASET UNSTRUCTURED_GRID\n"
    out = head.encode() + b"POINTS %d double\n" % len(X)
    out += X.astype(">f8").tobytes() if binary else rows(X).encode()
    out += b"\nCELLS %d %d\n" % (len(CELLS), size)
    for _, row in CELLS:
        numbers = [len(row), *row]
        out += np.array(numbers, ">i4").tobytes() if binary else (" ".join(map(str, numbers)) + "\n").encode()
    out += b"\nCELL_TYPES %d\n" % len(CELLS)
    types = [kind for kind, _ in CELLS]
    out += np.array(types, ">i4").tobytes() if binary else ("\n".join(map(str, types)) + "\n").encode()
    return out + b"\nPOINT_DATA 6\nSCALARS a float\nLOOKUP_TABLE default\n"


def vtk_new(binary: bool) -> bytes:
    head = f"# vtk DataFile Version 5.1\ntwo tets\n{'BINARY' if binary else 'ASCII'}\nDATASET UNSTRUCTURED_GRID\n"
    out = head.encode() + b"POINTS %d float\n" % len(X)
    out += X.astype(">f4").tobytes() if binary else rows(X).encode()
    out += b"\nMETADATA\nINFORMATION 0\n\n"
    start = np.cumsum([0] + [len(row) for _, row in CELLS])
    flat = np.concatenate([row for _, row in CELLS])
    out += b"CELLS %d %d\n" % (len(start), len(flat))
    for name, values in ((b"OFFSETS", start), (b"CONNECTIVITY", flat)):
        out += name + b" vtktypeint64\n"
        out += values.astype(">i8").tobytes() if binary else " ".join(map(str, values.tolist())).encode()
        out += b"\n"
    out += b"CELL_TYPES %d\n" % len(CELLS)
    types = [kind for kind, _ in CELLS]
    return out + (np.array(types, ">i4").tobytes() if binary else "\n".join(map(str, types)).encode()) + b"\n"


def vtu(form: str, *, packed: bool = False, order: str = "<", wide: int = 4) -> bytes:
    """`form`: ascii, binary (inline base64), raw or base64 (both appended)."""
    start = np.cumsum([len(row) for _, row in CELLS])
    arrays = [
        ("Points", "Float64", 3, X.ravel(), "f8"),
        ("connectivity", "Int64", 1, np.concatenate([row for _, row in CELLS]), "i8"),
        ("offsets", "Int32", 1, start, "i4"),
        ("types", "UInt8", 1, np.array([kind for kind, _ in CELLS]), "u1"),
    ]
    texts, appended = [], b""
    for name, kind, parts, values, dtype in arrays:
        how, text, head = form, "", order + ("Q" if wide == 8 else "I")
        if form == "ascii":
            text = " ".join(map(repr, values.tolist()))
        elif form == "binary":
            text = _coded(
                values.astype(order + dtype).tobytes(), True, packed, f"{order}{'Q' if wide == 8 else 'I'}"
            ).decode()
        else:
            how = f'appended" offset="{len(appended)}'
            appended += _coded(values.astype(order + dtype).tobytes(), form == "base64", packed, head)
        tag = f'<DataArray type="{kind}" Name="{name}" NumberOfComponents="{parts}" format="{how}"'
        texts.append(f"{tag}>\n{text}\n</DataArray>\n" if text else f"{tag}/>\n")
    zipped = ' compressor="vtkZLibDataCompressor"' if packed else ""
    little = "LittleEndian" if order == "<" else "BigEndian"
    head = f'<?xml version="1.0"?>\n<VTKFile type="UnstructuredGrid" version="1.0" byte_order="{little}"'
    head += f' header_type="UInt{8 * wide}"{zipped}>\n<UnstructuredGrid>\n'
    piece = f'<Piece NumberOfPoints="{len(X)}" NumberOfCells="{len(CELLS)}">\n<PointData/>\n'
    grid = (
        f"{piece}<Points>\n{texts[0]}</Points>\n<Cells>\n{''.join(texts[1:])}</Cells>\n</Piece>\n</UnstructuredGrid>\n"
    )
    tail = b"</VTKFile>\n"
    if appended:
        tail = f'<AppendedData encoding="{form}">\n_'.encode() + appended + b"\n</AppendedData>\n" + tail
    return (head + grid).encode() + tail


def _coded(data: bytes, base: bool, packed: bool, head: str) -> bytes:
    def text(b: bytes) -> bytes:
        return base64.b64encode(b) if base else b

    if not packed:
        return text(struct.pack(head, len(data)) + data)
    size = 40  # several blocks, the last one shorter
    blocks = [zlib.compress(data[k : k + size]) for k in range(0, len(data), size)]
    numbers = [len(blocks), size, len(data) % size, *map(len, blocks)]
    return text(struct.pack(head[0] + head[1] * len(numbers), *numbers)) + text(b"".join(blocks))
