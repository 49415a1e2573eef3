"""BibTeX entries of what a score rests on: the papers of metrics, intervals and encoders."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_METRICS = {
    "OTAD": """@article{jeong2026otad,
  title   = {Optimal Transport Audio Distance with Learned {R}iemannian Ground Metrics},
  author  = {Jeong, Wonwoo},
  journal = {arXiv preprint arXiv:2605.05554},
  year    = {2026}
}""",
    "FAD": """@inproceedings{kilgour2019fad,
  title     = {Fr\\'echet Audio Distance: A Reference-Free Metric for Evaluating Music Enhancement
               Algorithms},
  author    = {Kilgour, Kevin and Zuluaga, Mauricio and Roblek, Dominik and Sharifi, Matthew},
  booktitle = {Interspeech},
  year      = {2019}
}""",
    "KAD": """@article{chung2025kad,
  title   = {{KAD}: No More {FAD}! An Effective and Efficient Evaluation Metric for Audio
             Generation},
  author  = {Chung, Yoonjin and Eu, Pilsun and Lee, Junwon and Choi, Keunwoo and Nam, Juhan and
             Chon, Ben Sangbae},
  journal = {arXiv preprint arXiv:2502.15602},
  year    = {2025}
}""",
}

_JACKKNIFE = """@article{efron1981jackknife,
  title   = {The Jackknife Estimate of Variance},
  author  = {Efron, Bradley and Stein, Charles},
  journal = {The Annals of Statistics},
  volume  = {9},
  number  = {3},
  pages   = {586--596},
  year    = {1981}
}"""

_PANNS = """@article{kong2020panns,
  title   = {{PANNs}: Large-Scale Pretrained Audio Neural Networks for Audio Pattern Recognition},
  author  = {Kong, Qiuqiang and Cao, Yin and Iqbal, Turab and Wang, Yuxuan and Wang, Wenwu and
             Plumbley, Mark D.},
  journal = {IEEE/ACM Transactions on Audio, Speech, and Language Processing},
  volume  = {28},
  pages   = {2880--2894},
  year    = {2020}
}"""
_ENCODERS = {
    "yamnet": """@misc{plakal2019yamnet,
  title  = {{YAMNet}},
  author = {Plakal, Manoj and Ellis, Dan},
  note   = {TensorFlow Model Garden, research/audioset/yamnet},
  year   = {2019}
}""",
    "vggish": """@inproceedings{hershey2017cnn,
  title     = {{CNN} Architectures for Large-Scale Audio Classification},
  author    = {Hershey, Shawn and Chaudhuri, Sourish and Ellis, Daniel P. W. and Gemmeke, Jort F.
               and Jansen, Aren and Moore, R. Channing and Plakal, Manoj and Platt, Devin and
               Saurous, Rif A. and Seybold, Bryan and Slaney, Malcolm and Weiss, Ron J. and
               Wilson, Kevin},
  booktitle = {ICASSP},
  year      = {2017}
}""",
    "encodec": """@article{defossez2023encodec,
  title   = {High Fidelity Neural Audio Compression},
  author  = {D\\'efossez, Alexandre and Copet, Jade and Synnaeve, Gabriel and Adi, Yossi},
  journal = {Transactions on Machine Learning Research},
  year    = {2023}
}""",
    "clap": """@inproceedings{wu2023clap,
  title     = {Large-Scale Contrastive Language-Audio Pretraining with Feature Fusion and
               Keyword-to-Caption Augmentation},
  author    = {Wu, Yusong and Chen, Ke and Zhang, Tianyu and Hui, Yuchen and
               Berg-Kirkpatrick, Taylor and Dubnov, Shlomo},
  booktitle = {ICASSP},
  year      = {2023}
}""",
    "openl3": """@inproceedings{cramer2019openl3,
  title     = {Look, Listen, and Learn More: Design Choices for Deep Audio Embeddings},
  author    = {Cramer, Aurora and Wu, Ho-Hsiang and Salamon, Justin and Bello, Juan Pablo},
  booktitle = {ICASSP},
  year      = {2019}
}""",
    "audiomae": """@inproceedings{huang2022audiomae,
  title     = {Masked Autoencoders that Listen},
  author    = {Huang, Po-Yao and Xu, Hu and Li, Juncheng and Baevski, Alexei and Auli, Michael and
               Galuba, Wojciech and Metze, Florian and Feichtenhofer, Christoph},
  booktitle = {Advances in Neural Information Processing Systems},
  year      = {2022}
}""",
    "ast": """@inproceedings{gong2021ast,
  title     = {{AST}: Audio Spectrogram Transformer},
  author    = {Gong, Yuan and Chung, Yu-An and Glass, James},
  booktitle = {Interspeech},
  pages     = {571--575},
  doi       = {10.21437/Interspeech.2021-698},
  year      = {2021}
}""",
    "beats": """@inproceedings{chen2023beats,
  title     = {{BEATs}: Audio Pre-Training with Acoustic Tokenizers},
  author    = {Chen, Sanyuan and Wu, Yu and Wang, Chengyi and Liu, Shujie and Tompkins, Daniel and
               Chen, Zhuo and Che, Wanxiang and Yu, Xiangzhan and Wei, Furu},
  booktitle = {International Conference on Machine Learning},
  year      = {2023}
}""",
    "panns": _PANNS,
    "panns_wglm": _PANNS,
    "wav2vec2": """@inproceedings{baevski2020wav2vec,
  title     = {wav2vec 2.0: A Framework for Self-Supervised Learning of Speech Representations},
  author    = {Baevski, Alexei and Zhou, Yuhao and Mohamed, Abdelrahman and Auli, Michael},
  booktitle = {Advances in Neural Information Processing Systems},
  year      = {2020}
}""",
}


def cite_metric(name: str) -> str:
    """The BibTeX entry of a metric."""
    return _METRICS[name]


def cite_jackknife() -> str:
    """The entry for the intervals."""
    return _JACKKNIFE


def cite_model(model: Mapping[str, Any]) -> str | None:
    """The BibTeX entry of an encoder, as a document describes it; ``None`` without a paper.

    "vggish@kadtk" are frames of vggish, and its paper is vggish's.
    """
    name = model["name"].partition("@")[0]
    if model["paper"] == "none":
        return None
    if name in _ENCODERS:
        return _ENCODERS[name]
    key = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower() or "encoder"
    title, note = (re.sub(r"([&%$#_{}])", r"\\\1", text) for text in (name, model["paper"]))
    return f"@misc{{{key},\n  key   = {{{key}}},\n  title = {{{title}}},\n  note  = {{{note}}}\n}}"


def key_of(entry: str) -> str:
    """The key by which an entry is cited."""
    return entry.partition("{")[2].partition(",")[0]
