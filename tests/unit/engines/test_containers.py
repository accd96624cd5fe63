"""`docker run` as words: where its options end, what is in them, and what one trial makes of them."""

from __future__ import annotations

import pytest

from ruleout.engines.containers import Container, container


def of(command: str) -> Container:
    found = container(command.split(), 0)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("command", "image"),
    [
        ("docker run image --model m", "image"),
        ("podman container run -it --rm image", "image"),
        ("docker run -v a:b --gpus all --shm-size=9g --init --read-only image", "image"),
        ("docker run -ditP -e A=b image", "image"),
        ("nerdctl run --pull always --ulimit memlock=-1 image@sha256:0", "image@sha256:0"),
    ],
)
def test_the_image_is_the_first_word_that_belongs_to_no_option(command: str, image: str) -> None:
    found = of(command)
    assert found.words[found.image] == image


@pytest.mark.parametrize(
    "command", ["docker build .", "docker exec c run", "docker run", "docker run --gpus all", "run x"]
)
def test_what_runs_no_new_container_is_none(command: str) -> None:
    assert container(command.split(), 0) is None


@pytest.mark.parametrize(
    ("image", "engine"),
    [
        ("vllm/vllm-openai", "vllm"),
        ("vllm/vllm-openai-rocm:v0.18.0", "vllm"),
        ("mirror.local/vllm-openai@sha256:0", "vllm"),
        ("ghcr.io/ggml-org/llama.cpp:server-cuda", "llama.cpp"),
        ("ghcr.io/ggml-org/llama.cpp:full", None),
        ("lmsysorg/sglang:latest", None),
        ("team/my-vllm-openai:1", None),
    ],
)
def test_images_that_start_an_engine_by_themselves_are_known(image: str, engine: str | None) -> None:
    assert of(f"docker run {image} m").engine == engine
    assert of(f"docker run --entrypoint python3 {image} m").engine is None


def test_the_variables_are_those_that_it_is_given_a_value_for() -> None:
    found = of("docker run -e A=b=c --env D=e -e HF_TOKEN --env=F= image -e no")
    assert found.env == {"A": "b=c", "D": "e", "F": ""}


@pytest.mark.parametrize(
    ("value", "expected"),
    [("c", "docker run --init -e X=1 -e A=c image m"), (None, "docker run --init -e X=1 image m")],
)
def test_a_variable_is_set_once_or_not_at_all(value: str | None, expected: str) -> None:
    found = of("docker run -e A=b --init --env=A=d -e X=1 -e A image m")
    assert " ".join(found.with_variable("A", value)) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("docker run image m", "docker run --rm -p 127.0.0.1:{port}:80 image m"),
        (
            "docker run -p 9:80 -p ::1:1:80/tcp -p 5:5 image",
            "docker run --rm -p 5:5 -p 127.0.0.1:{port}:80 image",
        ),
        ("docker run --net host -d -t -it --name n --restart=always image", "docker run --rm --net host -i image"),
        ("docker run -dt --rm --detach=true --network=host image", "docker run --rm --network=host image"),
        ("sudo docker run --network own image", "sudo docker run --rm --network own -p 127.0.0.1:{port}:80 image"),
    ],
)
def test_for_a_trial_it_runs_in_front_leaves_nothing_and_is_reached(command: str, expected: str) -> None:
    words = command.split()
    found = container(words, words.index("docker"))
    assert found is not None
    assert " ".join(found.for_a_trial("80")) == expected
