<?php
// The database, the session, cookies, and answers that end a page.

mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);

function database()
{
    static $database;
    return $database ??= new mysqli('localhost', 'root', '', 'board', 0, getenv('BOARD_DATABASE'));
}

function query($sql, ...$values)
{
    return database()->execute_query($sql, $values);
}

function row($sql, ...$values)
{
    return query($sql, ...$values)->fetch_assoc();
}

function rows($sql, ...$values)
{
    return query($sql, ...$values)->fetch_all(MYSQLI_ASSOC);
}

function get_session($name)
{
    return $_SESSION[$name] ?? '';
}

function set_session($name, $value)
{
    $_SESSION[$name] = $value;
}

function get_cookie($name)
{
    return base64_decode($_COOKIE[md5($name)] ?? '');
}

function set_cookie($name, $value, $seconds)
{
    setcookie(md5($name), base64_encode($value), time() + $seconds, '/');
}

// An address counts once a day; the sums are kept as text, so that a page need not compute them.
function count_visit()
{
    $is_new = query('INSERT IGNORE INTO visit (address, day, agent) VALUES (?, CURDATE(), ?)', $_SERVER['REMOTE_ADDR'], $_SERVER['HTTP_USER_AGENT'] ?? '');
    if (!$is_new || database()->affected_rows !== 1) {
        return;
    }
    query('INSERT INTO visit_sum (day, visits) VALUES (CURDATE(), 1) ON DUPLICATE KEY UPDATE visits = visits + 1');
    $sums = row('SELECT SUM(visits) AS total, MAX(visits) AS most, SUM(IF(day = CURDATE(), visits, 0)) AS today FROM visit_sum');
    query('UPDATE config SET visits = ?', "today $sums[today], most $sums[most], in all $sums[total]");
}

function h($text)
{
    return htmlspecialchars((string)$text);
}

function redirect($place)
{
    header("Location: $place");
    exit;
}

function alert($message, $status = 403)
{
    http_response_code($status);
    echo '<!doctype html><title>', h($message), '</title><p class="alert">', h($message), '</p><p><a href="/list.php">back</a></p>';
    exit;
}

function board_asked_for()
{
    return row('SELECT id, title FROM board WHERE id = ?', $_GET['board'] ?? 'free') ?? alert('There is no such board.', 404);
}

function post_asked_for()
{
    return row('SELECT * FROM post WHERE no = ?', (int)($_GET['no'] ?? 0)) ?? alert('There is no such post.', 404);
}
