-- The blog's tables. Applied by `blog seed`.
CREATE TABLE posts (
    id INT UNSIGNED NOT NULL PRIMARY KEY,
    title VARCHAR(200) NOT NULL,
    body MEDIUMTEXT NOT NULL,
    written DATE NOT NULL,
    KEY written (written, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE pages (
    name VARCHAR(40) NOT NULL PRIMARY KEY,
    title VARCHAR(200) NOT NULL,
    body MEDIUMTEXT NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE post_tags (
    post INT UNSIGNED NOT NULL,
    tag VARCHAR(40) NOT NULL,
    PRIMARY KEY (post, tag),
    KEY tag (tag, post)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
