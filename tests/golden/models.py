"""The whole models in PyTorch, with heed's parameter names: the recurrent translator in plain
operations, the Transformers from PyTorch's own layers where it has them. Masks are heed's: true = may attend."""

import math

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def padding(lengths, width):
    """(B, T), true where t < length."""
    return torch.arange(width)[None, :] < torch.tensor(lengths)[:, None]


def causal(queries, keys):
    """(L, S), true where query l may see key s; the last query sees all keys."""
    return torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)


class RnnTranslator(nn.Module):
    """Bahdanau et al. 2015 as docs/numerics.md writes it; without attention Cho et al. 2014."""

    def __init__(self, vocabularies, width, embedding_width, attention_width, layers, attention,
                 tie, maxout):
        super().__init__()
        source, target = vocabularies
        context = 2 * width if attention else width
        features = embedding_width if tie else width
        self.maxout = maxout
        self.source_embedding = nn.Embedding(source, embedding_width, padding_idx=0)
        self.encoder = nn.GRU(embedding_width, width, layers, bidirectional=True, batch_first=True)
        for layer in range(layers):
            self.add_module(f"bridge{layer}", nn.Linear(width, width))
        self.target_embedding = nn.Embedding(target, embedding_width, padding_idx=0)
        self.attention = self.summary = None
        if attention:
            self.attention = nn.Module()
            self.attention.score = nn.Parameter(torch.empty(attention_width))
            self.attention.query = nn.Linear(width, attention_width, bias=False)
            self.attention.key = nn.Linear(2 * width, attention_width)
        else:
            self.summary = nn.Linear(2 * width, width)
        self.word_gates = nn.Linear(embedding_width, 3 * width)
        self.context_gates = nn.Linear(context, 3 * width, bias=False)
        self.recurrent = nn.Linear(width, 3 * width)
        self.upper = []  # named upper1, upper2, ...
        for layer in range(1, layers):
            self.upper.append(nn.GRUCell(width, width))
            self.add_module(f"upper{layer}", self.upper[-1])
        self.readout = nn.Linear(width + embedding_width + context, (2 if maxout else 1) * features)
        self.output = nn.Linear(features, target)
        if tie:
            self.output.weight = self.target_embedding.weight

    def encode(self, ids, lengths):
        packed = pack_padded_sequence(self.source_embedding(ids), lengths, batch_first=True,
                                      enforce_sorted=False)
        states, last = self.encoder(packed)
        annotations, _ = pad_packed_sequence(states, batch_first=True, total_length=ids.shape[1])
        return annotations, last[-2], last[-1]

    def attend(self, state, annotations, mask):
        query = self.attention.query(state)[:, None, :]
        scores = torch.tanh(query + self.attention.key(annotations)) @ self.attention.score
        weights = scores.masked_fill(~mask, -math.inf).softmax(-1)
        return (weights[:, :, None] * annotations).sum(1)

    def forward(self, source, lengths, target_input):
        annotations, forward_last, backward_first = self.encode(source, lengths)
        mask = padding(lengths, source.shape[1])
        states = [torch.tanh(getattr(self, f"bridge{layer}")(backward_first))
                  for layer in range(self.encoder.num_layers)]
        if self.summary is not None:
            context = torch.tanh(self.summary(torch.cat([forward_last, backward_first], 1)))
        input_weight = torch.cat([self.word_gates.weight, self.context_gates.weight], 1)
        logits = []
        for word in self.target_embedding(target_input).unbind(1):
            if self.attention is not None:
                context = self.attend(states[-1], annotations, mask)
            states[0] = torch.gru_cell(torch.cat([word, context], 1), states[0], input_weight,
                                       self.recurrent.weight, self.word_gates.bias,
                                       self.recurrent.bias)
            for layer, cell in enumerate(self.upper, 1):
                states[layer] = cell(states[layer - 1], states[layer])
            mixed = self.readout(torch.cat([states[-1], word, context], 1))
            features = mixed.unflatten(1, (-1, 2)).amax(-1) if self.maxout else torch.tanh(mixed)
            logits.append(self.output(features))
        return torch.stack(logits, 1)


def sinusoids(length, width):
    """(length, width): the sine and the cosine of one angle side by side."""
    angles = torch.arange(length, dtype=torch.float64)[:, None] / torch.pow(
        10000.0, torch.arange(0, width, 2, dtype=torch.float64) / width)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)


class Transformer(nn.Module):
    """Vaswani et al. 2017 from PyTorch's own layers."""

    def __init__(self, vocabularies, width, heads, ffn_width, layers, norm_first, activation,
                 context=0, tie=False):
        super().__init__()
        self.scale = math.sqrt(width)
        options = dict(d_model=width, nhead=heads, dim_feedforward=ffn_width, dropout=0,
                       activation=activation, batch_first=True, norm_first=norm_first)
        # The first name of shared weights is the one they are stored under.
        self.source_embedding = nn.Embedding(vocabularies[0], width, padding_idx=0)
        self.target_embedding = nn.Embedding(vocabularies[1], width, padding_idx=0)
        self.source_positions = nn.Embedding(context, width) if context else None
        self.target_positions = nn.Embedding(context, width) if context else None
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(**options), layers,
            nn.LayerNorm(width) if norm_first else None, enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(
            nn.TransformerDecoderLayer(**options), layers,
            nn.LayerNorm(width) if norm_first else None)
        self.output = nn.Linear(width, vocabularies[1], bias=False)
        if tie:
            self.output.weight = self.source_embedding.weight = self.target_embedding.weight

    def embed(self, embedding, positions, ids):
        x = embedding(ids) * self.scale
        table = sinusoids(*x.shape[1:]) if positions is None else positions.weight[:ids.shape[1]]
        return x + table

    def forward(self, source, lengths, target_input):
        hidden = ~padding(lengths, source.shape[1])
        memory = self.encoder(self.embed(self.source_embedding, self.source_positions, source),
                              src_key_padding_mask=hidden)
        steps = target_input.shape[1]
        states = self.decoder(self.embed(self.target_embedding, self.target_positions,
                                         target_input), memory, tgt_mask=~causal(steps, steps),
                              memory_key_padding_mask=hidden)
        return self.output(states)


class CausalLm(nn.Module):
    """GPT-2 from PyTorch's own layers: an encoder that may not look ahead."""

    def __init__(self, vocabulary, width, heads, ffn_width, layers, norm_first, activation,
                 context=0, tie=False):
        super().__init__()
        self.scale = 1 if context else math.sqrt(width)
        self.embedding = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width) if context else None
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, ffn_width, dropout=0, activation=activation,
                                       batch_first=True, norm_first=norm_first)
            for _ in range(layers))
        self.norm = nn.LayerNorm(width) if norm_first else None
        self.output = nn.Linear(width, vocabulary, bias=False)
        if tie:
            self.output.weight = self.embedding.weight

    def forward(self, ids):
        steps = ids.shape[1]
        x = self.embedding(ids) * self.scale
        x = x + (sinusoids(*x.shape[1:]) if self.positions is None
                 else self.positions.weight[:steps])
        for layer in self.layers:
            x = layer(x, src_mask=~causal(steps, steps))
        return self.output(x if self.norm is None else self.norm(x))


def rotate(x, half):
    """RoPE (Su et al. 2021): pairs (2i, 2i + 1), or (i, i + D/2), are complex numbers that turn."""
    pairs = x.unflatten(-1, (2, -1)).transpose(-1, -2) if half else x.unflatten(-1, (-1, 2))
    count = pairs.shape[-2]
    angles = torch.arange(x.shape[-2], dtype=x.dtype)[:, None] / torch.pow(
        10000.0, torch.arange(count, dtype=x.dtype) / count)
    turns = torch.polar(torch.ones_like(angles), angles)
    turned = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * turns)
    return (turned.transpose(-1, -2) if half else turned).flatten(-2)


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))

    def forward(self, x):
        return x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * self.weight


class RotaryLayer(nn.Module):
    """Rotary positions, RMS norms in front, SwiGLU, no biases: in plain operations."""

    def __init__(self, width, heads, ffn_width, half):
        super().__init__()
        self.heads, self.half = heads, half
        self.self_attn = nn.MultiheadAttention(width, heads, bias=False)  # for its weights
        self.linear1 = nn.Linear(width, ffn_width, bias=False)
        self.linear_gate = nn.Linear(width, ffn_width, bias=False)
        self.linear2 = nn.Linear(ffn_width, width, bias=False)
        self.norm1, self.norm2 = RmsNorm(width), RmsNorm(width)

    def attend(self, x):
        projected = (x @ self.self_attn.in_proj_weight.T).unflatten(-1, (3, self.heads, -1))
        query, key, value = projected.permute(2, 0, 3, 1, 4)  # (B, H, T, D) each
        query, key = rotate(query, self.half), rotate(key, self.half)
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        scores = scores.masked_fill(~causal(*scores.shape[-2:]), -math.inf)
        return self.self_attn.out_proj((scores.softmax(-1) @ value).transpose(1, 2).flatten(2))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        h = self.norm2(x)
        return x + self.linear2(F.silu(self.linear_gate(h)) * self.linear1(h))


class RotaryLm(nn.Module):
    """Llama's layout (Touvron et al. 2023)."""

    def __init__(self, vocabulary, width, heads, ffn_width, layers, half):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.layers = nn.Sequential(*(RotaryLayer(width, heads, ffn_width, half)
                                      for _ in range(layers)))
        self.norm = RmsNorm(width)
        self.output = nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids):
        return self.output(self.norm(self.layers(self.embedding(ids))))
