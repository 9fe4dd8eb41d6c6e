"""Files and bodies that are small, and take all the time or memory there is where nobody looks."""

import gzip
import zlib


def nested_pdf(levels: int = 9) -> bytes:
    """A PDF of some 3 kB whose page draws a form ten times, which draws the next one ten times, and so on."""
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>"]
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Resources<</XObject<</F 5 0 R>>>>/Contents 4 0 R>>"
    objects += [page, _stream(b"/F Do " * 10)]
    for level in range(levels):
        inner = b"/Resources<</XObject<</F %d 0 R>>>>" % (6 + level) if level < levels - 1 else b""
        work = b"/F Do " * 10 if inner else b"0 0 m 1 1 l S " * 10
        objects.append(_stream(work, b"/Type/XObject/Subtype/Form/BBox[0 0 99 99]" + inner))
    return _pdf(objects)


def unfolding_pdf(megabytes: int) -> bytes:
    """A PDF whose page's content is many megabytes of text, packed."""
    line = b"BT /F 9 Tf 9 9 Td (all work and no play makes a dull keeper of the light) Tj ET\n"
    resources = b"/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>"
    packed = zlib.compress(line * (megabytes * 2**20 // len(line)), 9)
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R" + resources + b">>"
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>", page]
    return _pdf([*objects, _stream(packed, b"/Filter/FlateDecode")])


def crowded_html(attributes: int) -> bytes:
    """A page with one tag of many attributes."""
    return b"<p " + b" ".join(b"a%d=1" % number for number in range(attributes)) + b">lamp</p>"


def bomb(megabytes: int, layers: int = 1) -> bytes:
    """Zeros, packed once or more."""
    data = bytes(megabytes * 2**20)
    for _ in range(layers):
        data = gzip.compress(data, 9)
    return data


def _stream(data: bytes, about: bytes = b"") -> bytes:
    return b"<<" + about + b"/Length %d>>stream\n" % len(data) + data + b"\nendstream"


def _pdf(objects: list[bytes]) -> bytes:
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj" % number + body + b"endobj\n"
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table
    return bytes(out + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start))
