"""Two steps of TRL's GRPO trainer with a tiny model and random weights, recorded by the callback."""

from __future__ import annotations

import sys

from datasets import Dataset
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

from starboard_client.trl import StarboardCallback

model_folder, output = sys.argv[1:]
model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(model_folder))
callback = StarboardCallback("lakes", success_reward=1.0, name="by TRL", environment="letters")
trainer = GRPOTrainer(
    model=model,
    processing_class=AutoTokenizer.from_pretrained(model_folder),
    reward_funcs=lambda completions, **_: [float(len(text) % 2) for text in completions],
    args=GRPOConfig(
        output_dir=output,
        max_steps=2,
        per_device_train_batch_size=8,
        num_generations=4,
        max_completion_length=8,
        logging_steps=1,
        use_cpu=True,
        bf16=False,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
    ),
    train_dataset=Dataset.from_list([{"prompt": f"S {letter} G"} for letter in "abcdefgh"]),
    callbacks=[callback],
)
callback.record_completions(trainer)
trainer.train()
