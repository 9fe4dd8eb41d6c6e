"""That a prompt is too long, in the words of many servers; each wording is made up after its server's own."""

from typing import Any

import pytest

from ricordo.models.overflow import is_overflow, window_named


class RefusedError(Exception):
    """An error as the clients raise it: words, and a body."""

    def __init__(self, words: str = "", **error: Any) -> None:
        super().__init__(words)
        self.body = {"error": error} if error else None


TOO_LONG: list[tuple[int | None, RefusedError, int | None]] = [
    (
        400,
        RefusedError("This model's maximum context length is 4096 tokens. Your messages resulted in 5120 tokens."),
        4096,
    ),
    (400, RefusedError("Input tokens exceed the configured limit of 2,500 tokens. Your messages have 2,750."), 2500),
    (400, RefusedError("Error code: 400", message="no words that we know", code="context_length_exceeded"), None),
    (None, RefusedError("Your input exceeds the context window of this model. Adjust it and try again."), None),
    (429, RefusedError("Request too large for gpt-x on tokens per min (TPM): Limit 3500, Requested 5200."), None),
    (413, RefusedError("Payload"), None),
    (400, RefusedError("You requested 5120 tokens; this model's maximum context length is 4096 tokens."), 4096),
    (
        400,
        RefusedError(
            "'max_tokens' is too large: 900. The maximum context length is 4096 and it has 3900 (900 > 4096-3900)"
        ),
        4096,
    ),
    (
        400,
        RefusedError("the request exceeds the available context size", type="exceed_context_size_error", n_ctx=2048),
        2048,
    ),
    (
        400,
        RefusedError("request (5120 tokens) exceeds the available context size (2048 tokens), try increasing it"),
        2048,
    ),
    (400, RefusedError("Requested token count exceeds the model's maximum context length of 4096 tokens."), 4096),
    (
        400,
        RefusedError("The number of tokens to keep from the initial prompt is greater than the context length."),
        None,
    ),
    (
        400,
        RefusedError("Keeping 5120 tokens: context overflow. The model has a context length of only 4096 tokens"),
        4096,
    ),
    (500, RefusedError("input length exceeds maximum context length"), None),
    (
        400,
        RefusedError(
            "This endpoint's maximum context length is 4096 tokens. You requested about 5120 tokens.", code=400
        ),
        4096,
    ),
    (400, RefusedError("prompt is too long: 211000 tokens > 200000 maximum"), 200000),
    (
        400,
        RefusedError("input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000, decrease them"),
        200000,
    ),
    (
        400,
        RefusedError("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
        1048576,
    ),
    (400, RefusedError("Prompt contains 40000 tokens, too large for model with 32768 maximum context length"), 32768),
    (400, RefusedError("This model's maximum prompt length is 131072 but the request contains 537812 tokens."), 131072),
    (400, RefusedError("Input is too long for requested model."), None),
    (
        400,
        RefusedError("too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs"),
        None,
    ),
    (400, RefusedError("Please reduce the length of the messages or completion."), None),
]


@pytest.mark.parametrize(("status", "error", "window"), TOO_LONG)
def test_a_prompt_that_is_too_long_is_recognised_and_its_window_read(
    status: int | None, error: RefusedError, window: int | None
) -> None:
    assert is_overflow(error, status)
    assert window_named(error, status) == window


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (429, RefusedError("Rate limit reached: Limit 30000, Used 29000, Requested 4183. Try again in 6s.")),
        (429, RefusedError("Rate limit reached for requests.", code="rate_limit_exceeded")),
        (None, RefusedError("Too many tokens this minute", code="rate_limit_exceeded")),
        (400, RefusedError("max_tokens is too large: 90000. This model supports at most 16384 completion tokens.")),
        (400, RefusedError("Invalid 'user': string too long. Expected a string with maximum length 256.")),
        (400, RefusedError("Invalid schema for function 'find': 'limit' is no valid type.")),
        (400, RefusedError("1 validation error: the field `context` is missing in the request.")),
        (
            402,
            RefusedError("This request requires more credits, or fewer max_tokens. You requested up to 4096 tokens."),
        ),
        (401, RefusedError("Incorrect API key provided.")),
        (500, RefusedError("The server had an error.")),
        (None, RefusedError("")),
    ],
)
def test_no_other_refusal_is_taken_for_it(status: int | None, error: RefusedError) -> None:
    assert not is_overflow(error, status)
