"""A byte-level BPE tokenizer trained on the environments' texts. It encodes any text, and common words as one token.

It splits text as Qwen2's tokenizer does, each digit by itself, since transformers loads it as one with a Qwen2 model.
"""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Tokenizer

END, START, TURN_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
TAGS = ("<think>", "</think>", "<answer>", "</answer>")
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def learn(
    texts: Iterable[str], *, vocabulary: int, phrases: Iterable[str] = (), split_lines: bool = False
) -> PreTrainedTokenizerFast:
    """Each of `phrases` is one token. `split_lines`: no token has a line break and something else, so that all rows of
    a grid have equal tokens."""
    tokenizer = Tokenizer(models.BPE())
    qwen2 = Qwen2Tokenizer().backend_tokenizer
    tokenizer.normalizer = qwen2.normalizer
    lines = pre_tokenizers.Split("\u010a", behavior="isolated")  # a line break in the byte-level alphabet
    pieces = [qwen2.pre_tokenizer, lines] if split_lines else [qwen2.pre_tokenizer]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(pieces)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - len(TAGS),
        special_tokens=[END, START, TURN_END],
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_tokens([AddedToken(tag, normalized=False, special=False) for tag in TAGS])
    tokenizer.add_tokens([AddedToken(phrase, normalized=False, special=False) for phrase in phrases])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=TURN_END,
        pad_token=END,
        model_max_length=2048,
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast
