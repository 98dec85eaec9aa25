"""The tokens of texts of 26 scripts, in every encoding of Python that can write them, and those of Unicode's rules."""

import encodings.aliases

import pytest
import regex

from keras_interp_rnn.datasets import text, words

SENTENCES = {
    "Latin": "The cat's milk, isn't it good? It costs 3.50!",
    "Greek": "Η γάτα πίνει γάλα, και ο σκύλος;",
    "Cyrillic": "Кошка пьёт молоко, а собака — нет.",
    "Armenian": "Կատուն կաթ է խմում, իսկ շունը՝ ջուր։",
    "Georgian": "კატა რძეს სვამს, ძაღლი კი წყალს.",
    "Hebrew": "החתול שותה חלב, והכלב שותה מים.",
    "Arabic": "القطة تشرب الحليب، والكلب يشرب الماء.",
    "Syriac": "ܫܠܡܐ ܥܠܝܟܘܢ، ܐܚܐ.",
    "Devanagari": "बिल्ली दूध पीती है, और कुत्ता पानी।",
    "Bengali": "বিড়াল দুধ খায়, আর কুকুর জল।",
    "Gurmukhi": "ਬਿੱਲੀ ਦੁੱਧ ਪੀਂਦੀ ਹੈ, ਤੇ ਕੁੱਤਾ ਪਾਣੀ।",
    "Gujarati": "બિલાડી દૂધ પીએ છે, અને કૂતરો પાણી.",
    "Tamil": "பூனை பால் குடிக்கிறது, நாய் தண்ணீர்.",
    "Telugu": "పిల్లి పాలు తాగుతుంది, కుక్క నీళ్ళు.",
    "Kannada": "ಬೆಕ್ಕು ಹಾಲು ಕುಡಿಯುತ್ತದೆ, ನಾಯಿ ನೀರು.",
    "Malayalam": "പൂച്ച പാൽ കുടിക്കുന്നു, നായ വെള്ളം.",
    "Sinhala": "පූසා කිරි බොනවා, බල්ලා වතුර.",
    "Tibetan": "ཞི་མིས་འོ་མ་འཐུང་།",
    "Ethiopic": "ድመት ወተት ትጠጣለች፣ ውሻም ውሃ።",
    "Hangul": "고양이는 우유를 마시고, 개는 물을 마신다.",
    "Thai": "แมวดื่มนม และสุนัขดื่มน้ำ",
    "Lao": "ແມວດື່ມນົມ ແລະໝາດື່ມນ້ຳ",
    "Khmer": "ឆ្មាផឹកទឹកដោះគោ ហើយឆ្កែផឹកទឹក។",
    "Myanmar": "ကြောင်က နို့သောက်တယ်။",
    "Han": "猫喝牛奶,狗喝水。",
    "Kana": "ねこはミルクを飲む。",
}

DIFFERENCES = {
    "Latin": "a number is cut at its decimal point",
    **dict.fromkeys(
        ("Thai", "Lao", "Khmer", "Myanmar", "Han", "Kana"),
        "a script without blanks between words, in which a run of letters is one token here, and by Unicode's rules, "
        "which leave words to a dictionary, nearly every letter",
    ),
}
"""Where the tokens are not the words of Unicode Standard Annex 29, and how they differ."""


def by_unicode(sentence):
    """The words of Unicode Standard Annex 29, and signs, without blanks."""
    parts = regex.split(r"(?w)\b", sentence.lower())
    return [part.strip() for part in parts if part.strip()]


@pytest.mark.core
@pytest.mark.parametrize("script", SENTENCES)
def test_tokens_are_the_words_of_unicode_but_for_the_listed_differences(script):
    sentence = SENTENCES[script]
    tokens = words.tokenize(sentence)
    assert (tokens != by_unicode(sentence)) == (script in DIFFERENCES)
    if script == "Latin":
        assert tokens[-4:] == ["3", ".", "50", "!"]
    elif script in DIFFERENCES:
        runs = [part for part in regex.split(r"([\s\p{P}])", sentence) if part.strip()]
        assert len(tokens) == len(runs)
    graphemes = regex.findall(r"\X", sentence.lower())
    cut = {sum(map(len, graphemes[:n])) for n in range(len(graphemes) + 1)}
    place = 0
    for token in tokens if script not in ("Thai", "Lao") else ():  # whose vowel AM is written as two characters
        place = sentence.lower().index(token, place)
        assert {place, place + len(token)} <= cut, "no character is cut from its marks"
        place += len(token)


CODECS = sorted({name for name in encodings.aliases.aliases.values() if name not in ("mbcs", "oem", "tactis")})


def writes(codec, sentence):
    """Whether a codec writes a sentence as bytes, and reads it again."""
    try:
        return sentence.encode(codec).decode(codec) == sentence
    except (LookupError, UnicodeError, ValueError, TypeError):
        return False


def test_the_tokens_do_not_depend_on_the_encoding_of_the_file(tmp_path):
    tried = {}
    for codec in CODECS:
        for script, sentence in SENTENCES.items():
            if writes(codec, sentence):
                path = tmp_path / f"{codec}.txt"
                path.write_bytes(sentence.encode(codec))
                read = text.load(path, encoding=codec)
                assert words.tokenize(read) == words.tokenize(sentence), (codec, script)
                tried.setdefault(codec, []).append(script)
    assert len(tried) >= 50
    assert {script for scripts in tried.values() for script in scripts} == {*SENTENCES}
    assert sum(len(scripts) < len(SENTENCES) for scripts in tried.values()) >= 40, "encodings of few scripts too"
