"""What in a text is nobody else's business, as an ordered table: what gives itself away by its shape comes first, then
what only its surroundings tell.

Every pattern is linear: runs are possessive, begin at a boundary, and nothing nested repeats. `secret` is the group
that is replaced; `needs` are words of which one has to be in the text for the pattern to be tried at all.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

KINDS = ("prompt", "key", "signature", "token", "password", "mac", "address", "email", "user", "host", "home")

PLACEHOLDER = re.compile(rf"<(?:{'|'.join(KINDS)})-\d{{1,9}}>")

Check = Callable[[re.Match[str]], bool]


@dataclass(frozen=True)
class Rule:
    """A pattern whose groups named after a kind (`user`, `host`, …) hold what is to be replaced.

    Attributes:
        text: the pattern, in verbose syntax.
        needs: words (lower case) of which one must be in the text, in any case.
        check: what the pattern cannot say; the match is left alone when it is false.
    """

    text: str
    needs: tuple[str, ...] = ()
    check: Check = lambda match: True

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when it is first needed: most texts need few of them, and most commands none."""
        return re.compile(self.text, re.VERBOSE | re.MULTILINE)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PUBLIC_SITES = _words(
    """
    huggingface.co hf.co github.com githubusercontent.com github.io gitlab.com pytorch.org python.org pypi.org
    pythonhosted.org pypa.io nvidia.com vllm.ai sglang.ai sglang.io lmsys.org readthedocs.io readthedocs.org docker.com
    docker.io ghcr.io nvcr.io quay.io modelscope.cn stackoverflow.com wikipedia.org arxiv.org openai.com anthropic.com
    llvm.org apache.org kernel.org debian.org ubuntu.com ray.io intel.com amd.com wandb.ai google.com gnu.org w3.org
    tensorflow.org microsoft.com aka.ms json-schema.org opentelemetry.io pydantic.dev example.com example.org
    example.net fastapi.tiangolo.com uvicorn.org encode.io numpy.org scipy.org pandas.pydata.org mozilla.org
    prometheus.io kubernetes.io tinyurl.com bit.ly cmake.org boost.org ggml.ai ollama.com jinja.palletsprojects.com
    """
)
"""Sites that everybody may know that somebody looked at."""

COMMON_NAMES = _words(
    """
    root user users ubuntu admin administrator debian centos runner vllm sglang transformers python python3 model models
    server client worker engine scheduler tokenizer data test tests localhost local host node gpu cuda torch triton ray
    nccl docker container kernel system systemd llama qwen deepseek default main master head none null true false
    workspace app home work nobody daemon guest service serve api http https prompt token key password email address
    shared public git pod router proxy gateway llm llama-server inference info warning error debug rank name shape
    string text content messages role assistant float float16 float32 bfloat16 auto
    """
)
"""Names of accounts and hosts that are ordinary words too: replaced where they are a name, not wherever they occur."""

_NOTHING = frozenset(("none", "null", "true", "false", "nil", "undefined", "empty", "unset", "auto", "..."))


_NOBODYS = _words(
    "localhost localhost.localdomain host hostname host.docker.internal self debug info warning warn error fatal"
)


def _value(match: re.Match[str]) -> bool:
    """It is a value: not nothing, not a variable, not masked already."""
    value = next(v for v in match.groupdict().values() if v is not None)
    bare = value.strip("*•xX.…\"'\\")
    return bool(bare) and value.lower() not in _NOTHING and value[:1] not in "$%{"


def _given(match: re.Match[str]) -> bool:
    """A value of a flag, not its placeholder in a usage line (`--api-key API_KEY`), nor the next flag."""
    value = next(v for v in match.groupdict().values() if v is not None)
    flag = match.string[match.start() : match.end() - len(value)].upper().replace("-", "_")
    return value not in flag and not value.startswith("--") and _value(match)


def _random(match: re.Match[str]) -> bool:
    """It looks made at random: long enough, of letters and digits or of both cases."""
    value = next(v for v in match.groupdict().values() if v is not None)
    mixed = any(map(str.isdigit, value)) + any(map(str.isupper, value)) + any(map(str.islower, value))
    return _value(match) and mixed >= 2


def _mixed(match: re.Match[str]) -> bool:
    """It is no hash, no path and no name of anything: capitals, small letters and digits."""
    value = match["token"]
    return all(any(map(kind, value)) for kind in (str.isdigit, str.isupper, str.islower)) and value[0] != "/"


def _site(match: re.Match[str]) -> bool:
    host = match["host"].lower().rstrip(".")
    labels = host.split(".")
    known = any(".".join(labels[i:]) in PUBLIC_SITES for i in range(len(labels)))
    scheme = match.string[max(0, match.start() - 11) : match.start() - 3]
    local = re.search(r"(?:hf|ipc|inproc|file|shm|unix|env|docker-image)$", scheme)
    return not known and not local and _named(match)


def _named(match: re.Match[str]) -> bool:
    """A host that is somebody's: not this machine, not a number, not nothing."""
    host = match["host"].lower()
    if host in _NOTHING or host in _NOBODYS:
        return False
    flag = match.string[match.start() : match.start("host")].replace("-", "_").lower()
    return any(map(str.isalpha, host)) and (len(host) < 5 or host not in flag)


_VERSION_BEFORE = re.compile(
    r"""(?:[=~<>!]=\s?|\bversions?\W{0,8}|\bver\W{0,3}|(?<![A-Za-z])[vV]
      |(?:nvidia|cuda|cu1\d|cudnn|cublas|curand|cufft|cusolver|cusparse|cupti|nvrtc|nvjitlink|nvtx|cufile|nccl|nvshmem
         |tensorrt|trt|opencv|(?<![a-z])lib[a-z]|rocm|hip|miopen|driver|release|build|firmware|vbios)[\w.-]*\W{0,60}
      |^(?:\[\w+\]\s+)?[A-Za-z][\w.-]*[ ]{2,60})$""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_VERSION_AFTER = re.compile(r"[-+_][A-Za-z]|\.?(?:dev|post|rc|so)\b|\.\d")


def _v4(match: re.Match[str]) -> bool:
    parts = [int(part) for part in match["address"].split(".")]
    if max(parts) > 255 or parts[0] in (0, 127, 255):
        return False
    text, begin, end = match.string, *match.span("address")
    before, after = text[max(0, begin - 80) : begin], text[end : end + 6]
    if re.match(r":\d", after) and not before.endswith("=="):
        return True
    return not (_VERSION_AFTER.match(after) or _VERSION_BEFORE.search(before))


def _v6(match: re.Match[str]) -> bool:
    text = match["address"]
    try:
        address = ipaddress.IPv6Address(text.partition("%")[0])
    except ValueError:
        return False
    if address.is_loopback or address.is_unspecified or not any(map(str.isdigit, text)):
        return False
    groups = sum(bool(group) for group in text.split(":"))
    return groups >= 3 or text[:2].lower() in ("fe", "fd", "fc", "20", "26", "2a", "24", "28")


def _ids(match: re.Match[str]) -> bool:
    return match["prompt"].count(",") >= 2 or "prompt_token_ids" in match[0]


_SIGNED = re.compile(
    r"(?i)x-(?:amz|goog)-\w|(?:^|&)(?:signature|sig|awsaccesskeyid|googleaccessid|key-pair-id|policy)="
)


def _signed(match: re.Match[str]) -> bool:
    return _SIGNED.search(match["signature"]) is not None


def _mac(match: re.Match[str]) -> bool:
    return ":" in match["mac"] or any(map(str.isalpha, match["mac"]))


def _mail(match: re.Match[str]) -> bool:
    domain = match["email"].rpartition("@")[2]
    return domain.rpartition(".")[2].isalpha() and match["email"] not in (
        "git@github.com",
        "git@gitlab.com",
        "git@hf.co",
    )


def _login(match: re.Match[str]) -> bool:
    return match["host"].lower() not in ("main", "master", "head", "latest", "sha256", "sha512", "all", "once", "dev")


def _account(match: re.Match[str]) -> bool:
    return match["user"] not in ("Shared", "Public", "Default", ".", "..", "*") and _value(match)


_QUOTE = r"\\{0,3}[\"']"
_OPEN = rf"(?:\[)?(?:{_QUOTE})?"
"""What may stand before a value: a list's bracket, a quote, an escaped quote."""
_BARE = r"[^\s,;&'\"()\[\]{}\\|]++"
_QUOTED_OR_BARE = r"(?:(?<=\")[^\"\\\n]++|(?<=')[^'\\\n]++|" + _BARE + ")"
"""What is in quotes goes on to the quote, what is not to the next blank or separator."""
_SET = rf"(?:{_QUOTE})?[ \t]{{0,4}}(?:=>|[=:])[ \t]{{0,4}}{_OPEN}"
_GIVEN = rf"(?:=|[ \t]{{1,4}}|{_QUOTE}[ \t]{{0,4}},[ \t]{{0,4}}){_OPEN}"
_HOST = r"[A-Za-z0-9](?:[\w.-]*\w)?"
_NAME = r"[^/\\\s'\"`:,;<>()\[\]{}|&$*?]++"

_SECRET_NAMES = r"(?:passwo?r?d|passphrase|(?<![A-Za-z0-9])pwd|(?<=[A-Za-z0-9][_-])pass)"
_TOKEN_NAMES = r"""(?:
    (?:api|app|license|account|signing|encryption|master|service|subscription|webhook)[_-]?key
  | (?:secret|private|shared)[_-]?(?:access[_-]?)?key | access[_-]?key(?:[_-]?id)? | ssh[_-]key
  | (?:hf|hugging_?face(?:[_-]hub)?|hub|access|auth|api|bearer|refresh|session|security|github|gh|gitlab|slack|bot|
       write|read|ngc|id|csrf|registry|service|deploy|admin|identity|client|modelscope|wandb|replicate|oauth)[_-]?token
  | (?:client[_-]?|app[_-]?|webhook[_-]?|signing[_-]?|shared[_-]?)?secret(?:[_-]key[_-]base)? | credentials?
  | set-cookie | cookie
)"""


def _rule(pattern: str, *needs: str, check: Check = lambda match: True) -> Rule:
    return Rule(pattern, needs, check)


RULES: tuple[Rule, ...] = (
    # prompts as lists of token ids; the strings are found by `redaction`, which knows how strings end
    _rule(rf"(?<!\w)(?:{_QUOTE})?(?:prompt_token_ids|output_token_ids|input_ids|output_ids|token_ids|prompt)(?:{_QUOTE})?"
          r"\s{0,2}[:=]\s{0,2}\[(?P<prompt>\d[\d,\s]*+)", "_ids", "prompt", check=_ids),
    _rule(r"\bdata:[a-z]{1,20}/[\w.+-]{1,40};base64,(?P<prompt>[\w+/=]{8,}+)", ";base64,"),
    # what a signed address lets one fetch
    _rule(r"(?<=\?)(?P<signature>[^\s'\"<>?]++)", "signature=", "sig=", "x-amz-", "x-goog-", "key-pair-id=",
          "accesskeyid=", "googleaccessid=", "policy=", check=_signed),
    # who logs in where, in an address
    _rule(rf"(?<=://)(?P<user>[^\s/:@'\"<>]++):(?P<password>(?:[^\s/@'\"<>]|<(?!\w))++)@(?={_HOST}|\[|<)", "://"),
    _rule(r"(?<=://)(?P<token>[^\s/:@'\"<>]{1,400}+)@(?=[\w\[<])", "://", check=lambda m: m["token"] != "git"),
    # tokens that are known by how they begin
    _rule(r"(?<![\w-])(?P<token>hf_[A-Za-z0-9]{8,}+)(?!\w)", "hf_", check=lambda m: _random_after(m, 3)),
    _rule(r"(?<![\w-])(?P<token>sk-[\w-]{10,}+)", "sk-", check=lambda m: _random_after(m, 3)),
    _rule(
        r"""(?<![\w-])(?P<token>gh[pousr]_[A-Za-z0-9]{12,}+|github_pat_\w{12,}+|glpat-[\w-]{12,}+|xox[a-z]-[\w-]{8,}+
        |xapp-[\w-]{8,}+|(?:AKIA|ASIA)[0-9A-Z]{12,}+|AIza[\w-]{30,}+|ya29\.[\w-]{16,}+|npm_[A-Za-z0-9]{30,}+
        |pypi-[\w-]{30,}+|nvapi-[\w-]{16,}+|r8_[A-Za-z0-9]{30,}+|dckr_pat_[\w-]{16,}+|gsk_[A-Za-z0-9]{20,}+
        |eyJ[\w-]{6,}+\.[\w-]{6,}+(?:\.[\w-]*+)?)""",
        "gh", "glpat-", "xox", "xapp-", "akia", "asia", "aiza", "ya29", "npm_", "pypi-", "nvapi-", "r8_", "dckr_pat_",
        "gsk_", "eyj",
    ),
    _rule(r"\bhooks\.slack\.com/services/(?P<token>[\w/]{8,}+)", "hooks.slack.com"),
    _rule(r"\bssh-(?:rsa|ed25519|dss)[ ](?P<key>AAAA[\w+/=]{20,}+)", "ssh-"),
    # headers
    _rule(
        rf"(?i:\b(?:proxy-)?authorization{_SET}(?:bearer|basic|token|digest|apikey|negotiate)\s{{1,4}})"
        r"(?P<token>[^\s'\",;}\\]++)", "authorization", check=_value,
    ),
    _rule(rf"(?i:\b(?:proxy-)?authorization{_SET})(?!(?i:bearer|basic|token|digest|apikey|negotiate)\b)"
          r"(?P<token>[^\s'\",;}\\]++)", "authorization", check=_value),
    _rule(r"\b(?i:bearer)[ ](?P<token>[\w.~+/=-]{8,}+)", "bearer", check=_random),
    # secrets that their name gives away: in the environment, as flags, in JSON, YAML and reprs
    _rule(rf"(?i:{_SECRET_NAMES}{_SET})(?P<password>{_QUOTED_OR_BARE})",
          "pass", "pwd", check=_value),
    _rule(rf"(?i:--[\w-]{{0,40}}?{_SECRET_NAMES}{_GIVEN})(?P<password>{_QUOTED_OR_BARE})",
          "pass", "pwd", check=_given),
    _rule(rf"(?i:(?<![A-Za-z0-9]){_TOKEN_NAMES}{_SET})(?P<token>{_QUOTED_OR_BARE})",
          "key", "token", "secret", "credential", "cookie", check=_value),
    _rule(rf"(?i:--(?:token|[\w-]{{0,40}}?{_TOKEN_NAMES}){_GIVEN})(?P<token>{_QUOTED_OR_BARE})",
          "key", "token", "secret", "credential", check=_given),
    _rule(rf"(?i:(?<![\w-])x-[\w-]{{0,20}}?(?:key|token|secret){_SET})(?P<token>{_QUOTED_OR_BARE})",
          "key", "token", "secret", check=_value),
    _rule(rf"(?i:(?<![\w-])(?:token|key){_SET})(?P<token>[\w~+/=-]{{16,}}+)(?![.\w])", "token", "key", check=_mixed),
    _rule(rf"(?i:[?&](?:[a-z]{{1,12}}[_-])?(?:token|key|secret|password|apikey)=)(?P<token>{_BARE})", "token=", "key=",
          "secret=", "password=", check=_value),
    _rule(r"(?<![\w-])(?:-u|--user)[ =](?P<user>[^\s:'\"]++):(?P<password>[^\s'\"]++)", "-u", "--user"),
    _rule(r"\bwandb[ ]login[ ](?P<token>[\w-]{16,}+)", "wandb"),
    # addresses
    _rule(r"(?<![\w:.-])(?P<mac>[0-9A-Fa-f]{2}(?P<_s>[:-])(?:[0-9A-Fa-f]{2}(?P=_s)){4,6}[0-9A-Fa-f]{2})(?![\w:-])",
          ":", "-", check=_mac),
    _rule(r"(?<![\w.])(?P<address>\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})(?!\w)", ".", check=_v4),
    _rule(r"(?<![\w:.])(?P<address>(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?:%\w{1,16})?)(?![\w:])", ":", check=_v6),
    # people
    _rule(r"(?<![\w.+%@/-])(?P<email>[\w.+%-]++@[A-Za-z0-9][\w-]*+(?:\.[A-Za-z0-9-]++)++)(?![@\w])", "@", check=_mail),
    _rule(r"(?<![\w.+%@/-])(?P<user>[A-Za-z_][\w.-]*+)@(?=<(?:address|host)-)", "@"),
    _rule(r"(?<![\w.+%@/-])(?P<user>[A-Za-z_][\w.-]*+)@(?P<host>[A-Za-z][\w-]++)(?=[:\s'\"$#\])]|$)",
          "@", check=_login),
    _rule(rf"(?<![\w.-])(?:/(?:mnt|export|var|nfs|data|usr|net|gpfs|lustre|shared|fs\d?|ceph\w*|vol\d?|storage))?"
          rf"/home/(?P<user>{_NAME})", "/home/", check=_account),
    _rule(rf"(?<![\w.-])/Users/(?P<user>{_NAME})", "/users/", check=_account),
    _rule(rf"\b[A-Za-z]:(?:\\{{1,4}}|/)Users(?:\\{{1,4}}|/)"
          rf"(?P<user>[^\\/:*?'\"<>|\s]++(?:[ ][^\\/:*?'\"<>|\s]++){{0,3}}(?=[\\/])|{_NAME})", "users", check=_account),
    _rule(r"(?<![\w~.])~(?P<user>[a-z_][a-z0-9_-]++)(?=/)", "~", check=_account),
    _rule(r"\b[ug]id=\d{1,9}\((?P<user>[\w.-]++)\)", "id=", check=_account),
    _rule(r"\btorchinductor_(?P<user>[\w.-]++)", "torchinductor_", check=lambda m: m["user"] not in ("root", "cache")),
    _rule(rf"(?<![\w-])(?:USER|LOGNAME|USERNAME|SUDO_USER){_SET}(?P<user>{_QUOTED_OR_BARE})",
          "user", "logname", check=_account),
    _rule(rf"[\"'](?:user|user_?name|login)(?:{_QUOTE})\s{{0,4}}:\s{{0,4}}{_QUOTE}(?P<user>[^\"'\\\s]++)",
          "user", "login", check=_account),
    _rule(r"\blogged[ ]in[ ]as:?[ ](?P<user>[\w.-]*\w)", "logged in", check=_account),
    _rule(rf"--(?:user|user-?name|login){_GIVEN}(?P<user>{_QUOTED_OR_BARE})", "--user", "--login", check=_account),
    _rule(rf"(?<![\w-])HOME{_SET}(?P<home>/(?!home/|Users/|root\b)[^\s'\",;:<>]{{2,}}+)", "home"),
    # machines
    _rule(rf"(?<=://)(?:[^\s/@'\"]{{1,200}}@)?(?P<host>{_HOST})", "://", check=_site),
    _rule(r"^[A-Z][a-z]{2}[ ]{1,2}\d{1,2}[ ]\d\d:\d\d:\d\d[ ]"
          r"(?P<host>[A-Za-z0-9][\w.-]*+)[ ][\w./()-]{1,60}(?:\[\d{1,9}\])?:", check=_named),
    _rule(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.,]*(?:Z|[+-]\d\d:?\d\d)[ ](?P<host>[A-Za-z0-9][\w.-]*+)[ ]"
          r"(?:[\w./()-]{1,60}\[\d{1,9}\]|kernel|systemd):", check=_named),
    _rule(r"^\[?(?:pod/)(?P<host>[a-z0-9][a-z0-9.-]*+)/[a-z0-9.-]{1,80}\]?", "pod/", check=_named),
    _rule(r"(?<![\w:./-])(?P<host>[A-Za-z0-9][\w.-]*+):\d{1,9}:\d{1,9}[ ]\[\d{1,3}\][ ](?:NCCL|RCCL)",
          "ccl", check=_named),
    _rule(r"\bLinux[ ](?P<host>[A-Za-z0-9][\w.-]*+)[ ]\d{1,2}\.\d{1,3}\.\d{1,3}", "linux ", check=_named),
    _rule(r"\[c10d\][^\n\[]{0,160}\[(?P<host>[A-Za-z0-9][\w.-]*+)\]:\d", "[c10d]", check=_named),
    _rule(r"\bon[ ]node[ ](?P<host>(?=[\w.]*[\d-])[A-Za-z][\w.-]*\w)", "on node", check=_named),
    _rule(r"\bsrun:[ ]error:[ ](?P<host>[A-Za-z0-9][\w.-]*+):[ ]task", "srun", check=_named),
    _rule(r"\bON[ ](?P<host>[A-Za-z0-9][\w.-]*+)[ ]CANCELLED", "cancelled", check=_named),
    _rule(rf"(?<![\w-])(?i:hostname|host_name|nodename|node_?name|SLURM_\w{{0,20}}NODE(?:LIST|NAME)|SLURMD_NODENAME|"
          rf"(?:master|head|dist[_-]init|node)[_-](?:addr|address|host|ip)|server_name){_SET}(?P<host>{_HOST})",
          "hostname", "host_name", "node", "addr", "_ip", "_host", "server_name", check=_named),
    _rule(rf"[\"'](?:host|hostname)(?:{_QUOTE})\s{{0,4}}:\s{{0,4}}{_QUOTE}(?P<host>{_HOST})",
          "host", check=_named),
    _rule(rf"\bhost=[\"'](?P<host>{_HOST})", "host=", check=_named),
    _rule(rf"^[ ]{{1,8}}host[ ]{{1,8}}:[ ](?P<host>{_HOST})", "host ", check=_named),
    _rule(rf"--(?:host|hostname|master-addr|master_addr|dist-init-addr|nccl-init-addr|rdzv[-_]endpoint|"
          rf"data-parallel-address|head-node-ip|node-ip){_GIVEN}(?P<host>{_HOST})",
          "--host", "-addr", "_addr", "rdzv", "-ip", check=_named),
    _rule(r"(?<![\w.-])(?P<host>ip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}(?:\.[\w-]++)*+)", "ip-"),
    _rule(r"(?<![\w./-])(?P<host>(?=[\w.]*[\d-])(?:[A-Za-z0-9][A-Za-z0-9-]*+\.){1,8}"
          r"(?:internal|local|lan|corp|intra|intranet|localdomain))(?![\w.(-])",
          ".internal", ".local", ".lan", ".corp", ".intra", check=_named),
)  # fmt: skip


def _random_after(match: re.Match[str], skip: int) -> bool:
    rest = match["token"][skip:]
    return any(map(str.isdigit, rest)) or (any(map(str.isupper, rest)) and any(map(str.islower, rest)))
