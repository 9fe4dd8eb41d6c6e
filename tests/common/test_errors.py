import pytest

from ricordo.common.errors import DocumentError, ServiceError, one_stop


@pytest.mark.parametrize(
    ("put_together", "told"),
    [
        ("It failed: no such model.. Try another.", "It failed: no such model. Try another."),
        ("It failed: no such model..", "It failed: no such model."),
        ("It asks: why?. Tell it.", "It asks: why? Tell it."),
        ("It waits…. Go on.", "It waits… Go on."),
        ("Wait... then go to ../x or a..b.", "Wait... then go to ../x or a..b."),
        ("模型失败。. Try again.", "模型失败。 Try again."),
    ],
)
def test_a_sentence_of_a_message_ends_once(put_together: str, told: str) -> None:
    assert one_stop(put_together) == told
    assert str(DocumentError(put_together)) == told
    assert str(ServiceError(put_together, 503)) == told
