<?php
// One script for all scenarios: what it does says the query.
$do = $_GET['do'] ?? 'show';
if ($do === 'show') {
    header('Content-Type: application/json');
    $body = file_get_contents('php://input');
    echo json_encode(['server' => $_SERVER, 'get' => $_GET, 'post' => $_POST, 'length' => strlen($body), 'sha' => sha1($body)]);
} elseif ($do === 'upload') {
    echo sha1_file($_FILES['file']['tmp_name']), ' ', $_FILES['file']['size'], ' ', $_POST['note'];
} elseif ($do === 'status') {
    http_response_code(410);
    header('X-Powered-By: nobody');
    echo 'gone';
} elseif ($do === 'redirect') {
    header('Location: /all.php?do=status');
} elseif ($do === 'log') {
    error_log("a word for the log, \x1b[31mred");
    echo 'logged';
} elseif ($do === 'large') {
    for ($i = 0; $i < 320; $i++) echo str_repeat(chr(97 + $i % 26), 65536);
} elseif ($do === 'slow') {
    echo str_repeat('first ', 10);
    flush();
    while (!file_exists($_GET['until'])) { clearstatcache(); usleep(10000); }
    echo 'second';
} elseif ($do === 'kill') {
    echo 'half';
    flush();
    exec('kill -KILL ' . getmypid());
    sleep(10);
} elseif ($do === 'die') {
    exec('kill -KILL ' . getmypid());
    sleep(10);
} elseif ($do === 'sendfile') {
    header('Content-Type: application/zip');
    header('Content-Disposition: attachment; filename="b.zip"');
    header("{$_GET['by']}: {$_GET['name']}");
    echo 'half';
} elseif ($do === 'endless') {
    ignore_user_abort(false);
    register_shutdown_function(function () { touch($_GET['mark']); });
    while (true) { echo str_repeat('x', 8192); flush(); }
}
