<?php
// What every page of the board begins with: the visitor's session, and the posts with the file that is attached to each.
//
// A small board in the manner of gnuboard5, for tests and measurements: the same checks before a download and the same way to send it, none of
// its code. Posts are in posts.json, files in file/, below the directory BOARD_DATA of the environment.
session_start();
define('BOARD_DATA', getenv('BOARD_DATA'));

function alert($message)
{
    http_response_code(403);
    header('content-type: text/html; charset=utf-8');
    echo '<p>', htmlspecialchars($message), '</p>';
    exit;
}

function members_only()
{
    if (empty($_SESSION['ss_mb_id'])) {
        alert('Members only: please log in.');
    }
}

function posts()
{
    return json_decode(file_get_contents(BOARD_DATA.'/posts.json'), true);
}

// The post of the query; where there is none, the visitor is told so.
function post_asked_for()
{
    $wr_id = (int)($_GET['wr_id'] ?? 0);
    $post = posts()[$wr_id] ?? null;
    if (!$post) {
        alert('There is no such post.');
    }
    return ['wr_id' => $wr_id] + $post;
}
