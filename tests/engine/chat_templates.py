"""Chat templates in the published form of their families, as far as what they allow and where they put things."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from tests.engine.models import words

ALTERNATE = (
    "{% if (message.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}"
)
CHATML = "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
# thoughts are shown after the last message of the user only
HIDING_CHATML = (
    "{% set last = namespace(user=0) %}{% for message in messages %}{% if message.role == 'user' %}"
    "{% set last.user = loop.index0 %}{% endif %}{% endfor %}"
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{% if message.role != 'assistant' %}{{ message.content }}{% else %}"
    "{% set parts = message.content.split('</think>') %}"
    "{% if loop.index0 > last.user and parts | length > 1 %}"
    "<think>\n{{ parts[0].split('<think>')[-1].strip('\n') }}\n</think>\n\n{% endif %}"
    "{{ parts[-1].lstrip('\n') }}{% endif %}<|im_end|>\n{% endfor %}"
)
TEMPLATES = {
    "Qwen2.5": f"{CHATML}{{% if add_generation_prompt %}}<|im_start|>assistant\n{{% endif %}}",
    "Qwen3": f"{HIDING_CHATML}{{% if add_generation_prompt %}}<|im_start|>assistant\n{{% endif %}}",
    "Qwen3-Thinking": f"{HIDING_CHATML}{{% if add_generation_prompt %}}<|im_start|>assistant\n<think>\n{{% endif %}}",
    "DeepSeek-R1-Distill": "<|bos|>{% for message in messages %}"
    "{% if message.role == 'system' %}{{ message.content }}"
    "{% elif message.role == 'user' %}<|User|>{{ message.content }}"
    "{% else %}<|Assistant|>{{ message.content.split('</think>')[-1] }}<|eot|>{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<|Assistant|><think>\n{% endif %}",
    # a conversation without a system prompt gets one
    "SmolLM2": "{% if messages[0].role != 'system' %}<|im_start|>system\nBe helpful.<|im_end|>\n{% endif %}"
    f"{CHATML}{{% if add_generation_prompt %}}<|im_start|>assistant\n{{% endif %}}",
    "Llama 3": "<|bos|>{% for message in messages %}<|start_header_id|>{{ message.role }}<|end_header_id|>\n\n"
    "{{ message.content | trim }}<|eot|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}",
    "Gemma 2": "<|bos|>{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    f"{{% for message in messages %}}{ALTERNATE}"
    "<start_of_turn>{{ 'model' if message.role == 'assistant' else message.role }}\n"
    "{{ message.content | trim }}<end_of_turn>\n{% endfor %}"
    "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}",
    # the system prompt is the beginning of the first user message
    "Gemma 3": "<|bos|>{% set system = messages[0].content + '\n\n' if messages[0].role == 'system' else '' %}"
    "{% for message in (messages[1:] if system else messages) %}"
    f"{ALTERNATE}<start_of_turn>{{{{ 'model' if message.role == 'assistant' else message.role }}}}\n"
    "{{ system if loop.first else '' }}{{ message.content | trim }}<end_of_turn>\n{% endfor %}"
    "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}",
    "Mistral v0.1": f"<|bos|>{{% for message in messages %}}{ALTERNATE}"
    "{% if message.role == 'user' %}[INST] {{ message.content }} [/INST]"
    "{% else %}{{ message.content }}<|eot|>{% endif %}{% endfor %}",
    "Phi 3": "{% for message in messages %}<|{{ message.role }}|>\n{{ message.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}",
    # no error: what the system says is gone
    "without a system role": "{% for message in messages %}{% if message.role == 'user' %}<|User|>"
    "{{ message.content }}{% elif message.role == 'assistant' %}<|Assistant|>{{ message.content }}<|eot|>{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<|Assistant|>{% endif %}",
}
WITHOUT_SYSTEM = ("Gemma 2", "Mistral v0.1", "without a system role")
SYSTEM_IN_USER = (*WITHOUT_SYSTEM, "Gemma 3")  # by us, or by the template
HIDES_THOUGHTS = ("Qwen3", "Qwen3-Thinking", "DeepSeek-R1-Distill")
THINKING = ("Qwen3-Thinking", "DeepSeek-R1-Distill")
MARKS = (
    "<|im_start|>", "<|im_end|>", "<|User|>", "<|Assistant|>", "<|eot|>", "<|bos|>", "<|start_header_id|>",
    "<|end_header_id|>", "<start_of_turn>", "<end_of_turn>", "<|end|>", "<|user|>", "<|assistant|>", "<|system|>",
)  # fmt: skip


def tokenizer_of(family: str) -> Any:
    tokenizer = deepcopy(words())
    tokenizer.add_special_tokens({"additional_special_tokens": list(MARKS)})
    tokenizer.chat_template = TEMPLATES[family]
    return tokenizer
