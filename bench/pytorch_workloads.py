"""What `heed bench` measures, as one would write it in PyTorch. Each function returns a closure that
does the work once. Models use PyTorch's own layers wherever there is one for the purpose."""

import math

import torch
from torch import nn
from torch.nn import functional as F

HAS_SDPA = hasattr(F, "scaled_dot_product_attention")


def causal_attention(query, key, value):
    if HAS_SDPA:
        return F.scaled_dot_product_attention(query, key, value, is_causal=True)
    length = query.size(-2)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
    return scores.masked_fill(hidden, -math.inf).softmax(-1) @ value


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x, cache=None):
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).split(width, -1)
        )
        if cache is None:
            y = causal_attention(q, k, v)
        else:  # one token; cache: keys and values (B, H, context, D) filled up to `length`
            keys, values, filled = cache
            keys[:, :, filled : filled + 1] = k
            values[:, :, filled : filled + 1] = v
            k, v = keys[:, :, : filled + 1], values[:, :, : filled + 1]
            if HAS_SDPA:
                y = F.scaled_dot_product_attention(q, k, v)
            else:
                y = (q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))).softmax(-1) @ v
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, layers, heads, width, context, vocabulary=65):
        super().__init__()
        self.context = context
        self.embedding = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, ids):
        x = self.embedding(ids) + self.positions.weight[: ids.size(1)]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    def step(self, ids, caches, filled):
        x = self.embedding(ids) + self.positions.weight[filled : filled + 1]
        for block, (keys, values) in zip(self.blocks, caches):
            x = block(x, (keys, values, filled))
        return self.head(self.norm(x))


class RnnSearch(nn.Module):
    def __init__(self, vocabulary=8000, width=256):
        super().__init__()
        self.source = nn.Embedding(vocabulary, width)
        self.target = nn.Embedding(vocabulary, width)
        self.encoder = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.initial = nn.Linear(width, width)
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(2 * width, width)
        self.energy = nn.Linear(width, 1, bias=False)
        self.cell = nn.GRUCell(3 * width, width)
        self.state_out = nn.Linear(width, 2 * width)
        self.word_out = nn.Linear(width, 2 * width, bias=False)
        self.context_out = nn.Linear(2 * width, 2 * width, bias=False)
        self.output = nn.Linear(width, vocabulary)

    def encode(self, source):
        memory, last = self.encoder(self.source(source))
        return memory, self.key(memory), torch.tanh(self.initial(last[1]))

    def step(self, words, state, memory, keys):
        scores = self.energy(torch.tanh(self.query(state).unsqueeze(1) + keys))
        context = (scores.softmax(1).transpose(1, 2) @ memory).squeeze(1)
        state = self.cell(torch.cat([words, context], -1), state)
        return state, context

    def read_out(self, states, words, contexts):
        pairs = self.state_out(states) + self.word_out(words) + self.context_out(contexts)
        return self.output(pairs.unflatten(-1, (-1, 2)).amax(-1))

    def forward(self, source, target_input):
        memory, keys, state = self.encode(source)
        words = self.target(target_input)
        states, contexts = [], []
        for t in range(words.size(1)):
            state, context = self.step(words[:, t], state, memory, keys)
            states.append(state)
            contexts.append(context)
        return self.read_out(torch.stack(states, 1), words, torch.stack(contexts, 1))


class Translator(nn.Module):
    """nn.Transformer between embeddings and an output projection."""

    def __init__(self, vocabulary=8000, width=256):
        super().__init__()
        self.source = nn.Embedding(vocabulary, width)
        self.target = nn.Embedding(vocabulary, width)
        self.layers = nn.Transformer(width, 8, 3, 3, 512, 0.0, batch_first=True)
        self.output = nn.Linear(width, vocabulary, bias=False)
        length = 16
        self.register_buffer("mask", torch.ones(length, length, dtype=torch.bool).triu(1))
        self.register_buffer("table", torch.randn(length, width))

    def forward(self, source, target_input):
        scale = math.sqrt(self.table.size(1))
        return self.output(
            self.layers(
                self.source(source) * scale + self.table,
                self.target(target_input) * scale + self.table,
                tgt_mask=self.mask,
            )
        )


def training_step(model, loss, tokens):
    fused = {"foreach": True} if hasattr(torch, "_foreach_addcdiv_") else {}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **fused)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step, tokens


def train_gpt(batch, **sizes):
    model = Gpt(**sizes)
    shape = (batch, model.context)
    ids, targets = torch.randint(4, 65, shape), torch.randint(4, 65, shape)
    loss = lambda: F.cross_entropy(model(ids).flatten(0, 1), targets.flatten())
    return training_step(model, loss, ids.numel())


def train_translator(model):
    source, words, targets = (torch.randint(4, 8000, (64, 16)) for _ in range(3))
    loss = lambda: F.cross_entropy(
        model(source, words).flatten(0, 1), targets.flatten(), label_smoothing=0.1
    )
    return training_step(model, loss, targets.numel())


def attention():
    q, k, v, g = (torch.randn(1, 8, 4096, 64) for _ in range(4))
    inputs = [x.requires_grad_() for x in (q, k, v)]

    def step():
        for x in inputs:
            x.grad = None
        causal_attention(*inputs).backward(g)

    return step, 4096


def generate():
    model = Gpt(layers=6, heads=6, width=384, context=256).eval()

    @torch.inference_mode()
    def step():
        caches = [
            (torch.empty(1, 6, 256, 64), torch.empty(1, 6, 256, 64)) for _ in model.blocks
        ]
        token = torch.full((1, 1), 4)
        for filled in range(256):
            token = model.step(token, caches, filled)[:, -1].argmax(-1, keepdim=True)

    return step, 256


def translate():
    """Beam search over batches of 64, each sentence to its own length."""
    model, beam = RnnSearch().eval(), 5
    batches = [
        torch.randint(4, 8000, (min(64, 1000 - begin), 8 + begin * 17 // 1000))
        for begin in range(0, 1000, 64)
    ]

    @torch.inference_mode()
    def step():
        for source in batches:
            rows, length = source.shape
            memory, keys, state = (x.repeat_interleave(beam, 0) for x in model.encode(source))
            tokens = torch.full((rows * beam,), 2)
            scores = torch.full((rows, beam), -math.inf)
            scores[:, 0] = 0
            history = []
            for _ in range(length):
                words = model.target(tokens)
                state, context = model.step(words, state, memory, keys)
                logits = model.read_out(state, words, context).log_softmax(-1)
                logits[:, :4] = -math.inf
                total = scores.unsqueeze(-1) + logits.view(rows, beam, -1)
                scores, best = total.flatten(1).topk(beam)
                parents = best // logits.size(-1)
                tokens = (best % logits.size(-1)).flatten()
                chosen = (parents + torch.arange(rows).unsqueeze(1) * beam).flatten()
                state = state[chosen]
                history.append((tokens, chosen))

    return step, sum(batch.numel() for batch in batches)


WORKLOADS = {
    "gpt-small": lambda: train_gpt(12, layers=4, heads=4, width=128, context=64),
    "gpt-medium": lambda: train_gpt(8, layers=6, heads=6, width=384, context=256),
    "rnnsearch": lambda: train_translator(RnnSearch()),
    "transformer": lambda: train_translator(Translator()),
    "attention": attention,
    "generate": generate,
    "translate": translate,
}
