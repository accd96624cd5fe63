"""Secrets are replaced, everything else is left alone; forty planted ones, and texts that try to break it."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ruleout.model.redaction import Redactor, redact

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJlLW9mLW91cnM"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAuPlanted1\nq8Zb1Planted2==\n-----END RSA PRIVATE KEY-----"

PLANTED: dict[str, list[tuple[str, str]]] = {
    "token": [
        ("HF_TOKEN=hf_QrStUvWxYz0123456789AbCdEfGhIjKlMn vllm serve m", "hf_QrStUvWxYz0123456789AbCdEfGhIjKlMn"),
        ("curl -H 'Authorization: Bearer sk-proj-9f8e7d6c5b4a39281706'", "sk-proj-9f8e7d6c5b4a39281706"),
        ("remote: https://ghp_0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R@github.com/x/y",
         "ghp_0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R"),
        ("slack: xoxb-123456789012-abcdefGHIJKL", "xoxb-123456789012-abcdefGHIJKL"),
        (f"cookie jar holds {JWT} still", JWT),
        ("AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPL2", "AKIAIOSFODNN7EXAMPL2"),
    ],
    "key": [
        (f"reading key\n{PEM}\ndone", "q8Zb1Planted2"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        ("vllm serve m --api-key my-own-key-17 --port 8000", "my-own-key-17"),
        ("non-default args: {'api_key': ['list-of-one-key'], 'port': 8000}", "list-of-one-key"),
        ('{"private_key": "abc/def+ghi=", "x": 1}', "abc/def+ghi="),
    ],
    "password": [
        ("DB_PASSWORD=correct-horse", "correct-horse"),
        ("--ssl-keyfile-password 's3cr3t words'", "s3cr3t words"),
        ('config: {"password": "p4ss, with; signs"}', "p4ss, with; signs"),
        ("client_secret: zyx987", "zyx987"),
        ("PGPASSWORD=hunter2 psql", "hunter2"),
        ("SMTP_PASS=hunter3", "hunter3"),
        ("curl -u admin:hunter4 http://127.0.0.1:8000/v1", "hunter4"),
        ("GET /v1/models?token=hunter5 HTTP/1.1", "hunter5"),
    ],
    "url login": [
        ("pip install --index-url https://deploy:tr0ub4dor@pypi.acme.example/simple", "tr0ub4dor"),
        ("redis://:onlypass1@cache-3:6379/0", "onlypass1"),
    ],
    "signed url": [
        (
            "GET https://models.s3.eu-west-1.amazonaws.com/a.safetensors?X-Amz-Expires=60&X-Amz-Signature=0bbe4f51d7",
            "0bbe4f51d7",
        ),
        ("https://storage.googleapis.com/b/o?GoogleAccessId=me&Expires=1&Signature=QWxpY2U%3D", "QWxpY2U%3D"),
        ("https://acct.blob.core.windows.net/c/f?sv=2022&sig=Zm9vYmFy", "Zm9vYmFy"),
    ],
    "address v4": [
        ("Connected to 10.13.7.42:29500", "10.13.7.42"),
        ("(RayWorkerWrapper pid=77, ip=192.168.178.23) started", "192.168.178.23"),
        ('INFO:     84.113.20.9:51234 - "POST /v1/completions HTTP/1.1" 200 OK', "84.113.20.9"),
        ("NCCL INFO NET/Socket : Using [0]eth0:172.16.4.11<0>", "172.16.4.11"),
    ],
    "address v6": [
        ("listening on [fe80::1ff:fe23:4567:890a%eth0]:8000", "fe80::1ff:fe23:4567:890a"),
        ("peer 2001:db8:85a3:0:0:8a2e:370:7334 closed", "2001:db8:85a3:0:0:8a2e:370:7334"),
        ("client socket connected to [::ffff:10.9.8.7]:29500", "10.9.8.7"),
    ],
    "mac": [("link/ether 0c:42:a1:5e:9b:d3 brd ff:ff:ff:ff:ff:ff", "0c:42:a1:5e:9b:d3")],
    "email": [("Author: Alice Liddell <alice.liddell@wonder.land.org>", "alice.liddell@wonder.land.org")],
    "user": [
        ('  File "/home/mhatter/venv/lib/python3.12/site-packages/vllm/x.py", line 3', "mhatter"),
        ('  File "/Users/dormouse/m.py", line 3', "dormouse"),
        ("C:\\\\Users\\\\Cheshire\\\\m.py", "Cheshire"),
        ("USER=tweedledee SHLVL=1", "tweedledee"),
        ("wandb: Currently logged in as: walrus (acme)", "walrus"),
        ("C:\\Users\\Mad Hatter\\m.py", "Hatter"),
        ("/tmp/torchinductor_jabberwock/ab/x.py", "jabberwock"),
    ],
    "host": [
        ("Nov 29 20:41:31 wabe-node-7 python3[812]: RuntimeError: x", "wabe-node-7"),
        ("2025-11-29T20:41:31.123456+01:00 wabe-node-8 vllm[12]: INFO ok", "wabe-node-8"),
        ("[pod/rabbit-hole-6d5f/vllm] INFO ok", "rabbit-hole-6d5f"),
        ("looking-glass:1201:1299 [3] NCCL INFO comm 0x55 rank 3", "looking-glass"),
        ("white@chess-box:~/run$ vllm serve m", "chess-box"),
        ("vllm-0 runs on node tea-party-3 now", "tea-party-3"),
        ("Linux teapot 5.15.0-139-generic #149-Ubuntu SMP", "teapot"),
        ("--dist-init-addr mushroom:5000 --nnodes 2", "mushroom"),
    ],
    "prompt": [
        ("Received request cmpl-1: prompt: 'Who stole the tarts?', params: SamplingParams(n=1)", "stole the tarts"),
        ('{"model": "m", "messages": [{"role": "user", "content": "Off with \\"their\\" heads"}]}', "heads"),
        ("data='{\\\"prompt\\\": \\\"curiouser and curiouser\\\", \\\"max_tokens\\\": 3}'", "curiouser"),
        ("obj=GenerateReqInput(rid='7', text='We are all mad here', input_ids=None)", "mad here"),
        ('{"prompt": ["a first one", "how doth the little"], "n": 1}', "little"),
        ("out={'text': 'a raven', 'output_ids': [1, 2, 3]}", "raven"),
        ('{"index":0,"text":"a writing desk","logprobs":null}', "desk"),
        ('"image_url": {"url": "data:image/png;base64,iVBORw0KGgoAAAA="}', "iVBORw0KGgoAAAA"),
        ("prompt_token_ids: [9906, 1917, 30], lora_request: None", "9906, 1917"),
    ],
}  # fmt: skip


def test_at_least_forty_secrets_of_twelve_kinds_are_planted() -> None:
    assert len(PLANTED) >= 12
    assert sum(map(len, PLANTED.values())) >= 40


@pytest.mark.parametrize(("line", "secret"), [case for cases in PLANTED.values() for case in cases])
def test_a_planted_secret_is_gone(line: str, secret: str) -> None:
    assert secret in line
    result = redact(line)
    assert secret not in result.text
    assert result.replacements


def test_none_of_all_planted_secrets_is_left_when_they_stand_in_one_text() -> None:
    cases = [case for cases in PLANTED.values() for case in cases]
    text = redact("\n".join(line for line, _ in cases)).text
    assert [secret for _, secret in cases if secret in text] == []


@pytest.mark.parametrize(
    "line",
    [
        "INFO 11-29 16:25:30 [core.py:97] Initializing a V1 LLM engine (v0.11.2) with config: max_model_len=4096",
        "[2025-11-29 20:41:31 TP0] Load weight begin. avail mem=92.81 GB",
        "revision=a1b2c3d4e5f60718293a4b5c6d7e8f9001122334 commit 0123456789abcdef0123456789abcdef01234567",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "nvidia-cublas-cu12==12.8.4.1 nvidia-curand-cu12 10.3.9.90 opencv-python-headless 4.12.0.88",
        "[pip3] nvidia-cudnn-cu12        9.10.2.21",
        '{"name": "nvidia-curand-cu12", "version": "10.3.9.90"}',
        "/usr/lib/x86_64-linux-gnu/libcudnn.so.9.1.0.70",
        "cuDNN version: 9.10.2.21, TensorRT 10.9.0.34, v1.2.3.4, driver 570.86.10.01",
        "Uvicorn running on http://0.0.0.0:8000 and http://127.0.0.1:30000 and http://localhost:8000 and [::]:8000",
        "KeyError: 'model.layers.3.self_attn.indexer.k_proj.weight_scale_inv'",
        "max_tokens=16 num_tokens: 40 pad_token='</s>' tokenizer='/models/x' token_ids=[] tokens/s: 31.5",
        "eos_token_id=[151329, 151336], bos_token: '<s>', skip_special_tokens=True, stop_token_ids=[]",
        "hf_config hf_overrides={} hf_token=None",
        "api_key=None, admin_api_key=None --api-key $KEY ssl_keyfile_password=None",
        "usage: vllm serve [--api-key API_KEY] [--hf-token HF_TOKEN] [--ssl-keyfile-password SSL_KEYFILE_PASSWORD]",
        "Avg prompt throughput: 10.1 tokens/s, cache key: 0123456789abcdef0123456789abcdef, prompt: 5 tokens",
        "request chatcmpl-0b8b1c2d-3e4f-5a6b-7c8d-9e0f1a2b3c4d GPU-5f0c7a1e-aaaa-bbbb-cccc-0123456789ab",
        "at::Tensor c10::cuda::CUDAStream std::vector<float> ae::be c10d::add 00000000:17:00.0 12:34:56.789",
        '  File "/usr/local/lib/python3.12/dist-packages/vllm/v1/engine/core.py", line 812, in run_engine_core',
        "See https://docs.vllm.ai/en/latest/ and https://huggingface.co/zai-org/GLM-5 or https://github.com/a/b/issues/3",
        "/root/models/hub pass@1 deepseek@main image@sha256:abc /opt/x/.local/lib threading.local()",
        '{"role": "assistant", "content": "", "token": " Paris", "logprob": -0.1, "type": "text"}',
        "Capturing batches (bs=1 avail_mem=12.3 GB): 100%|####| 4/4 [00:02<00:00,  1.62it/s]",
        "torch.nn.functional.scaled_dot_product_attention 2.10.0+cu130 sm_120a 0x7f1c2a3b4d5e 1.5e-05 3.5.0.post1",
    ],
)  # fmt: skip
def test_ordinary_text_is_left_alone(line: str) -> None:
    assert redact(line).text == line


def test_a_key_that_breaks_off_takes_no_ordinary_line_with_it() -> None:
    text = redact("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\nc2VjcmV0\nINFO: 11-29 the next line").text
    assert text == "<key-1>\nINFO: 11-29 the next line"


def test_the_same_secret_is_the_same_placeholder_and_another_is_another() -> None:
    result = redact("10.0.0.1 talks to 10.0.0.2; 10.0.0.1 answers 10.0.0.2:5000")
    assert result.text == "<address-1> talks to <address-2>; <address-1> answers <address-2>:5000"
    assert [(r.kind, r.placeholder, r.count) for r in result.replacements] == [
        ("address", "<address-1>", 2),
        ("address", "<address-2>", 2),
    ]


def test_a_secret_that_was_given_away_once_is_replaced_wherever_its_word_stands() -> None:
    text = redact("PASSWORD=xyzzy-42\nlogin failed with xyzzy-42 on wabe-1\nNov 29 20:41:31 wabe-1 vllm[1]: no").text
    assert "xyzzy" not in text
    assert "wabe" not in text


def test_several_texts_share_one_numbering() -> None:
    redactor = Redactor()
    assert redactor("from 10.0.0.1") == "from <address-1>"
    assert redactor("from 10.0.0.2 and 10.0.0.1") == "from <address-2> and <address-1>"


def test_what_was_replaced_can_be_listed_but_does_not_show_in_a_repr() -> None:
    (replacement,) = redact("PASSWORD=xyzzy-42").replacements
    assert replacement.original == "xyzzy-42"
    assert "xyzzy" not in repr(replacement)


PIECES = st.sampled_from(
    [line for cases in PLANTED.values() for line, _ in cases]
    + ["<token-1>", "<host-7>", "password=", "token: '", '"prompt": "', "\\", '"', "'", "@", "://", "/home/", "\n", " "]
    + ["hf_", "Bearer ", "-----BEGIN A-----", "10.0.0.", "1", "::", ":", "~", "<", ">", "USER=", "HOME=/x/", "?sig="]
)
TEXTS = st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=12).map("".join)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TEXTS)
@example("password=<token-1>x")
@example("token=token-1 <token-1>")
def test_redacting_again_changes_nothing(text: str) -> None:
    once = redact(text).text
    assert redact(once).text == once


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.sampled_from([case for cases in PLANTED.values() for case in cases]), TEXTS)
def test_a_secret_on_a_line_of_its_own_is_gone_whatever_stands_around_it(
    before: str, case: tuple[str, str], after: str
) -> None:
    line, secret = case
    text = redact(f"{before}\n{line}\n{after}").text
    around = f"{before} {after}"
    assert secret not in text or secret in around


@pytest.mark.parametrize(
    "piece",
    ["a", ".", "a.", "@", "a@", "://", "http://", "http://a?", '"prompt": "', '\\"', "\\", "1.", "1.2.3.4", ":", "a:",
     "::", "-", "--", "/home/", "password=", "token=", "eyJ", "-----BEGIN A-----", "_", "a_", "x-", "[c10d] [",
     "Bearer ", "'", " ", "~a", "\n", "Linux ", "ip-1-", "text='", "prompt_token_ids: [1,", "USER=", "?", "<token-1>",
     "host: ", "a-", "C:\\", "[", "a b", "hf_", "key='", "--a"],
)  # fmt: skip
def test_time_is_linear_in_the_text(piece: str) -> None:
    text = piece * (120_000 // len(piece))
    began = time.process_time()
    redact(text)
    assert time.process_time() - began < 4.0
