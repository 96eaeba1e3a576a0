"""Generates the content of the board: five boards with a thousand posts each, comments and members, the same in each run."""

import random

BOARDS = {"free": "Free board", "notice": "News", "qa": "Questions", "photo": "Photographs", "market": "Market"}
POSTS_EACH = 1000
MEMBERS = 20
PASSWORD = "board"
# Every tenth post has a file.
FILE_EVERY = 10
FILE = "notes.bin"
FILE_BYTES = 50_000

SCHEMA = """
CREATE DATABASE board CHARACTER SET utf8mb4;
USE board;
CREATE TABLE config (title VARCHAR(100) NOT NULL, visits VARCHAR(200) NOT NULL);
CREATE TABLE board (id VARCHAR(20) PRIMARY KEY, title VARCHAR(100) NOT NULL, place INT NOT NULL);
CREATE TABLE member (id VARCHAR(20) PRIMARY KEY, name VARCHAR(60) NOT NULL, salt CHAR(8) NOT NULL, password CHAR(64) NOT NULL, level INT NOT NULL);
CREATE TABLE post (
  no INT AUTO_INCREMENT PRIMARY KEY, board VARCHAR(20) NOT NULL, subject VARCHAR(200) NOT NULL, body TEXT NOT NULL, author VARCHAR(60) NOT NULL,
  written DATETIME NOT NULL, views INT NOT NULL DEFAULT 0, comments INT NOT NULL DEFAULT 0, downloads INT NOT NULL DEFAULT 0,
  pinned TINYINT NOT NULL DEFAULT 0, file VARCHAR(100), KEY (board, no), KEY (written)
);
CREATE TABLE comment (
  no INT AUTO_INCREMENT PRIMARY KEY, post INT NOT NULL, author VARCHAR(60) NOT NULL, body TEXT NOT NULL, written DATETIME NOT NULL, KEY (post)
);
CREATE TABLE online (address VARCHAR(45) PRIMARY KEY, member VARCHAR(20) NOT NULL, place VARCHAR(100) NOT NULL, seen DATETIME NOT NULL);
CREATE TABLE visit (address VARCHAR(45) NOT NULL, day DATE NOT NULL, agent VARCHAR(500) NOT NULL, PRIMARY KEY (address, day));
CREATE TABLE visit_sum (day DATE PRIMARY KEY, visits INT NOT NULL);
CREATE TABLE popular (word VARCHAR(50) NOT NULL, day DATE NOT NULL, searches INT NOT NULL, PRIMARY KEY (word, day));
"""

WORDS = (
    "about after again boat bread bridge camera cheap coast early evening ferry film found friend garden ginger harbour island kettle lamp "
    "letter lens market morning mountain music new north old orange paper people picture quiet radio rain river road school sea season "
    "shop small song spring station stone summer table tea ticket town train tree water weather weekend white window winter wood year"
).split()


def sql():
    """The whole content, as statements for a new database."""
    chance = random.Random(7)
    lines = [SCHEMA, "START TRANSACTION;"]
    lines.append("INSERT INTO config VALUES ('The harbour board', 'today 0, most 812, in all 501223');")
    lines += [f"INSERT INTO board VALUES ('{name}', '{title}', {place});" for place, (name, title) in enumerate(BOARDS.items())]
    for number in range(MEMBERS):
        salt = f"{chance.randrange(16**8):08x}"
        lines.append(f"INSERT INTO member VALUES ('member{number}', 'Member {number}', '{salt}', SHA2(CONCAT('{salt}', '{PASSWORD}'), 256), 2);")
    lines += rows("visit_sum", [f"(CURDATE() - INTERVAL {days} DAY, {chance.randrange(400, 812)})" for days in range(1, 800)])
    lines += rows("popular", [f"('{word}', CURDATE() - INTERVAL {days} DAY, {chance.randrange(1, 90)})" for word in WORDS for days in range(10)])
    posts, comments = [], []
    for number in range(1, POSTS_EACH * len(BOARDS) + 1):
        board = chance.choice(list(BOARDS))
        count = min(int(chance.expovariate(1 / 3)), 30)
        age = (POSTS_EACH * len(BOARDS) - number) * 17 + 60
        written = f"NOW() - INTERVAL {age} MINUTE"
        body = "\\n".join(sentence(chance, chance.randrange(30, 120)) for _ in range(chance.randrange(2, 8)))
        pinned = int(chance.random() < 0.003)
        file = f"'{FILE}'" if number % FILE_EVERY == 0 else "NULL"
        subject = sentence(chance, chance.randrange(4, 9))
        posts.append(f"({number}, '{board}', '{subject}', '{body}', {author(chance)}, {written}, {chance.randrange(900)}, {count}, 0, {pinned}, {file})")
        comments += [f"(NULL, {number}, {author(chance)}, '{sentence(chance, chance.randrange(5, 40))}', {written})" for _ in range(count)]
    return "\n".join([*lines, *rows("post", posts), *rows("comment", comments), "COMMIT;"])


def rows(table, values):
    """Statements with some hundred rows each."""
    return [f"INSERT INTO {table} VALUES {', '.join(values[at : at + 500])};" for at in range(0, len(values), 500)]


def sentence(chance, words):
    return " ".join(chance.choices(WORDS, k=words)).capitalize()


def author(chance):
    return f"'Member {chance.randrange(MEMBERS)}'" if chance.random() < 0.7 else f"'{chance.choice(WORDS)}{chance.randrange(100)}'"
