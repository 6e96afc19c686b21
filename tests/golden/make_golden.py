#!/usr/bin/env python3
"""Writes the golden files that hold heed to PyTorch: tests/golden/NAME.safetensors, one a case.

Needs PyTorch 1.13 or later (Debian: python3-torch); heed itself is built and tested without Python.
    /usr/bin/python3 tests/golden/make_golden.py [NAME ...]

A file holds   input/X            what goes in, cotangents included; f32, i32 or bool
               parameter/NAME     the weights, f32, named as in heed
               output/X           what PyTorch makes of them in double precision, f64
               gradient/NAME      of sum(output * cotangent), or of the loss, for each parameter
               input_gradient/X   the same for inputs
Inputs and weights are f32 numbers, so that heed starts from the very same in f32 and in f64. Masks
are heed's: true = may attend.
"""

import json
import pathlib
import struct
import sys
import zlib

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from models import CausalLm, RnnTranslator, RotaryLm, Transformer, causal, padding

FOLDER = pathlib.Path(__file__).parent
DTYPES = {torch.float32: "F32", torch.float64: "F64", torch.int32: "I32", torch.bool: "BOOL"}


# --- numbers and files ---------------------------------------------------------------------------


def uniform(*shape, scale=1.0):
    """f64 numbers in [-scale, scale) that f32 holds exactly."""
    return (torch.rand(shape, dtype=torch.float32) * 2 - 1).mul(scale).double()


def randomize(module, scale=0.5):
    """Lively numbers for every parameter, biases and norms included; f64."""
    module.double()
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            numbers = uniform(*parameter.shape, scale=scale)
            if "norm" in name and name.endswith("weight"):
                numbers = (numbers + 1).float()
            parameter.copy_(numbers)
    return module


def stored(tensor):
    """As the file holds inputs: f32, i32, bool."""
    if tensor.dtype == torch.float64:
        single = tensor.float()
        assert torch.equal(single.double(), tensor), "an input that f32 does not hold"
        return single
    return tensor.int() if tensor.dtype == torch.int64 else tensor


def write(name, tensors):
    """The safetensors format: header length, JSON header, bytes (see core/safetensors.h)."""
    header = {"__metadata__": {"made_by": f"make_golden.py, PyTorch {torch.__version__}"}}
    blocks = []
    end = 0
    for key in sorted(tensors):
        tensor = tensors[key].detach().contiguous()
        blocks.append(tensor.numpy().tobytes())
        begin, end = end, end + len(blocks[-1])
        header[key] = {"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape),
                       "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path = FOLDER / f"{name}.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blocks))
    print(f"{path.name}: {len(tensors)} tensors, {path.stat().st_size} bytes")


def golden(inputs, outputs, module=None, more=None):
    """The tensors of one file; gradients are those that backward() left behind."""
    tensors = {f"input/{name}": stored(tensor.detach()) for name, tensor in inputs.items()}
    for name, tensor in inputs.items():
        if tensor.requires_grad:
            tensors[f"input_gradient/{name}"] = tensor.grad
    for name, parameter in module.named_parameters() if module else ():
        tensors[f"gradient/{name}"] = parameter.grad
        tensors[f"parameter/{name}"] = stored(parameter.detach())
    tensors.update({f"output/{name}": tensor.double() for name, tensor in outputs.items()})
    tensors.update(more or {})
    return tensors


# --- layers --------------------------------------------------------------------------------------


def gru():
    lengths, steps = [6, 2, 5], 6
    module = randomize(nn.GRU(5, 4, num_layers=2, bidirectional=True, batch_first=True))
    x = uniform(3, steps, 5).requires_grad_()
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    states, last = module(packed)
    states, _ = pad_packed_sequence(states, batch_first=True, total_length=steps)
    cotangent, last_cotangent = uniform(*states.shape), uniform(*last.shape)
    ((states * cotangent).sum() + (last * last_cotangent).sum()).backward()
    return golden({"x": x, "cotangent": cotangent, "last_cotangent": last_cotangent,
                   "lengths": torch.tensor(lengths)}, {"states": states, "last": last}, module)


def gru_cell():
    module = randomize(nn.GRUCell(5, 7))
    x, h, cotangent = uniform(3, 5).requires_grad_(), uniform(3, 7).requires_grad_(), uniform(3, 7)
    y = module(x, h)
    y.backward(cotangent)
    return golden({"x": x, "h": h, "cotangent": cotangent}, {"h": y}, module)


def layer_norm():
    module = randomize(nn.LayerNorm(11, eps=1e-3))
    x, cotangent = uniform(3, 4, 11, scale=3).requires_grad_(), uniform(3, 4, 11)
    y = module(x)
    y.backward(cotangent)
    return golden({"x": x, "cotangent": cotangent}, {"y": y}, module)


def embedding():
    module = randomize(nn.Embedding(7, 5, padding_idx=2))
    ids = torch.tensor([[1, 2, 2, 6], [0, 1, 3, 1]])  # some twice, one never
    cotangent = uniform(2, 4, 5)
    y = module(ids)
    y.backward(cotangent)
    return golden({"ids": ids, "cotangent": cotangent}, {"y": y}, module)


def activations():
    x, cotangent = uniform(41, scale=5).requires_grad_(), uniform(41)
    functions = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu,
                 "gelu_tanh": lambda x: F.gelu(x, approximate="tanh")}
    outputs = {name: function(x) for name, function in functions.items()}
    slopes = {f"output/{name}_gradient": torch.autograd.grad(y, x, cotangent)[0]
              for name, y in outputs.items()}
    return golden({"x": x.detach(), "cotangent": cotangent}, outputs, more=slopes)


def cross_entropy():
    ignored = 3
    logits = uniform(3, 5, 7, scale=4).requires_grad_()
    targets = torch.tensor([[0, 6, 3, 1, 3], [5, 5, 2, 4, 0], [3, 3, 3, 3, 3]])
    outputs = {}
    for name, smoothing in {"plain": 0.0, "smoothed": 0.1}.items():
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum",
                               ignore_index=ignored, label_smoothing=smoothing)
        outputs[name] = loss
        outputs[f"{name}_gradient"], = torch.autograd.grad(loss, logits)
    return golden({"logits": logits.detach(), "targets": targets}, outputs)


# --- attention -----------------------------------------------------------------------------------


def attend(module, query, key, value, allowed=None, keys=None):
    """nn.MultiheadAttention with heed's masks: allowed (L, S), keys (B, S)."""
    output, weights = module(query, key, value, average_attn_weights=False,
                             attn_mask=None if allowed is None else ~allowed,
                             key_padding_mask=None if keys is None else ~keys)
    return {"output": output, "weights": weights}


def self_attention(mask):
    lengths = [6, 4]
    module = randomize(nn.MultiheadAttention(12, 3, batch_first=True))
    x, cotangent = uniform(2, 6, 12).requires_grad_(), uniform(2, 6, 12)
    inputs = {"x": x, "cotangent": cotangent}
    allowed = keys = None
    if mask == "causal":
        allowed = causal(6, 6)
    elif mask == "masked":
        allowed = inputs["allowed"] = torch.rand(6, 6) < 0.5
        allowed[:, 1] = True  # nobody is left without a key: PyTorch gives NaN there
        keys = padding(lengths, 6)
        inputs["lengths"] = torch.tensor(lengths)
        cotangent *= keys[:, :, None]  # what comes out at padding is nobody's business
    outputs = attend(module, x, x, x, allowed, keys)
    outputs["output"].backward(cotangent)
    if keys is not None:
        outputs["output"] = outputs["output"] * keys[:, :, None]
        outputs["weights"] = outputs["weights"] * keys[:, None, :, None]
    return golden(inputs, outputs, module)


def cross_attention(key_width, value_width, queries, keys):
    """Causal too: PyTorch is given the mask whose last query sees all keys."""
    lengths = [keys, keys - 3]
    module = randomize(nn.MultiheadAttention(8, 2, kdim=key_width, vdim=value_width,
                                             batch_first=True))
    inputs = {"query": uniform(2, queries, 8).requires_grad_(),
              "key": uniform(2, keys, key_width).requires_grad_(),
              "value": uniform(2, keys, value_width).requires_grad_()}
    outputs = attend(module, **inputs, allowed=causal(queries, keys), keys=padding(lengths, keys))
    cotangent = uniform(2, queries, 8)
    outputs["output"].backward(cotangent)
    inputs.update({"cotangent": cotangent, "lengths": torch.tensor(lengths)})
    return golden(inputs, outputs, module)


def encoder_layer(norm_first, activation):
    lengths = [6, 4]
    module = randomize(nn.TransformerEncoderLayer(12, 3, 20, dropout=0, activation=activation,
                                                  batch_first=True, norm_first=norm_first))
    real = padding(lengths, 6)
    x, cotangent = uniform(2, 6, 12).requires_grad_(), uniform(2, 6, 12) * real[:, :, None]
    y = module(x, src_key_padding_mask=~real)
    y.backward(cotangent)
    return golden({"x": x, "cotangent": cotangent, "lengths": torch.tensor(lengths)},
                  {"y": y * real[:, :, None]}, module)


def decoder_layer(norm_first, activation):
    lengths = [7, 4]
    module = randomize(nn.TransformerDecoderLayer(12, 3, 20, dropout=0, activation=activation,
                                                  batch_first=True, norm_first=norm_first))
    x, memory = uniform(2, 5, 12).requires_grad_(), uniform(2, 7, 12).requires_grad_()
    cotangent = uniform(2, 5, 12)
    y = module(x, memory, tgt_mask=~causal(5, 5),
               memory_key_padding_mask=~padding(lengths, 7))
    y.backward(cotangent)
    return golden({"x": x, "memory": memory, "cotangent": cotangent,
                   "lengths": torch.tensor(lengths)}, {"y": y}, module)


# --- optimizers ----------------------------------------------------------------------------------


def optimizers():
    """Ten steps of each from the same start, with the same gradients, at the rate 0.1 / step."""
    start, gradients = uniform(3, 5), uniform(10, 3, 5)
    gradients[2:4, 0] = 0
    kinds = {
        "sgd": lambda p: torch.optim.SGD(p, lr=1, momentum=0.9, weight_decay=0.2),
        "adam": lambda p: torch.optim.Adam(p, lr=1, weight_decay=0.2),
        "adamw": lambda p: torch.optim.AdamW(p, lr=1, betas=(0.9, 0.98), weight_decay=0.2),
        "adadelta": lambda p: torch.optim.Adadelta(p, lr=1, rho=0.95, eps=1e-6, weight_decay=0.2),
    }
    outputs = {}
    for name, make in kinds.items():
        parameter = nn.Parameter(start.clone())
        optimizer = make([parameter])
        path = []
        for step, gradient in enumerate(gradients, 1):
            optimizer.param_groups[0]["lr"] = 0.1 / step
            parameter.grad = gradient.clone()
            optimizer.step()
            path.append(parameter.detach().clone())
        outputs[name] = torch.stack(path)
    return golden({"start": start, "gradients": gradients}, outputs)


# --- whole models --------------------------------------------------------------------------------


def train(model, inputs, targets, **arguments):
    """Logits, loss and gradients at the start, then the losses of ten steps of AdamW."""
    def loss_of(logits):
        total = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum",
                                ignore_index=0, label_smoothing=0.1)
        return total / (targets != 0).sum()

    logits = model(**arguments)
    loss_of(logits).backward()
    tensors = golden({**inputs, "targets": targets}, {"logits": logits}, model)
    tensors = {name: tensor.clone() for name, tensor in tensors.items()}
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, betas=(0.9, 0.98), eps=1e-8,
                                  weight_decay=0.1)
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        loss = loss_of(model(**arguments))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    tensors["output/losses"] = torch.stack(losses)
    return tensors


def translation(model, source_vocabulary, target_vocabulary):
    """Three pairs of different lengths; 0 is padding, 1 begins and 2 ends a sentence."""
    randomize(model)
    lengths, target_lengths = [7, 4, 1], [5, 6, 2]
    source = torch.randint(3, source_vocabulary, (3, 7)) * padding(lengths, 7)
    targets = torch.randint(3, target_vocabulary, (3, 6))
    targets[range(3), [length - 1 for length in target_lengths]] = 2
    targets *= padding(target_lengths, 6)
    target_input = torch.cat([torch.ones_like(targets[:, :1]), targets[:, :-1]], 1)
    target_input[target_input == 2] = 0
    return train(model, {"source": source, "lengths": torch.tensor(lengths),
                         "target_input": target_input}, targets,
                 source=source, lengths=lengths, target_input=target_input)


def rnnsearch():
    return translation(RnnTranslator((11, 13), width=8, embedding_width=6, attention_width=7,
                                     layers=2, attention=True, tie=False, maxout=True), 11, 13)


def rnnencdec():
    return translation(RnnTranslator((11, 13), width=8, embedding_width=6, attention_width=7,
                                     layers=1, attention=False, tie=True, maxout=False), 11, 13)


def transformer_post():
    return translation(Transformer((11, 13), 12, 3, 20, 2, norm_first=False, activation="relu"),
                       11, 13)


def transformer_pre():
    return translation(Transformer((13, 13), 12, 3, 20, 2, norm_first=True, activation="gelu",
                                   context=9, tie=True), 13, 13)


def language_model(model):
    randomize(model)
    text = torch.randint(1, 17, (2, 10))
    ids, targets = text[:, :-1], text[:, 1:].clone()
    return train(model, {"ids": ids}, targets, ids=ids)


def causal_lm_pre():
    return language_model(CausalLm(17, 12, 3, 48, 2, norm_first=True, activation="gelu",
                                   context=11, tie=True))


def causal_lm_post():
    return language_model(CausalLm(17, 12, 3, 20, 2, norm_first=False,
                                   activation=lambda x: F.gelu(x, approximate="tanh")))


def causal_lm_rotary(half):
    return language_model(RotaryLm(17, 12, 3, 20, 2, half))


# --- all -----------------------------------------------------------------------------------------

CASES = {
    "gru": gru,
    "gru_cell": gru_cell,
    "layer_norm": layer_norm,
    "embedding": embedding,
    "activations": activations,
    "cross_entropy": cross_entropy,
    "self_attention": lambda: self_attention("none"),
    "self_attention_masked": lambda: self_attention("masked"),
    "self_attention_causal": lambda: self_attention("causal"),
    "cross_attention": lambda: cross_attention(8, 8, 5, 7),
    "cross_attention_widths": lambda: cross_attention(6, 10, 5, 7),
    "cross_attention_long": lambda: cross_attention(6, 10, 35, 131),
    "encoder_layer_post_relu": lambda: encoder_layer(False, "relu"),
    "encoder_layer_pre_gelu": lambda: encoder_layer(True, "gelu"),
    "decoder_layer_post_relu": lambda: decoder_layer(False, "relu"),
    "decoder_layer_pre_gelu": lambda: decoder_layer(True, "gelu"),
    "optimizers": optimizers,
    "rnnsearch": rnnsearch,
    "rnnencdec": rnnencdec,
    "transformer_post": transformer_post,
    "transformer_pre": transformer_pre,
    "causal_lm_pre": causal_lm_pre,
    "causal_lm_post": causal_lm_post,
    "causal_lm_rotary": lambda: causal_lm_rotary(half=False),
    "causal_lm_rotary_half": lambda: causal_lm_rotary(half=True),
}


def main():
    torch.set_num_threads(1)  # the same sums, bit for bit, on every machine of a kind
    for name in sys.argv[1:] or CASES:
        torch.manual_seed(zlib.crc32(name.encode()))
        write(name, CASES[name]())


if __name__ == "__main__":
    main()
