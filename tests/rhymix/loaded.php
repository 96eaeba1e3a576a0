<?php
// Loads Rhymix for a script: no server runs, the administrator acts, and `$values` has what the test wants.
$values = json_decode(getenv('VALUES'), true);
$_SERVER = ['HTTP_HOST' => getenv('URL'), 'SERVER_NAME' => '127.0.0.1', 'REMOTE_ADDR' => '127.0.0.77'] + $_SERVER;
chdir(getenv('RHYMIX'));
require getenv('RHYMIX') . '/common/autoload.php';
Context::init();
Context::set('logged_info', (object)['is_admin' => 'Y', 'member_srl' => 0, 'user_id' => 'operator', 'nick_name' => 'operator', 'user_name' => 'operator',
    'email_address' => 'operator@example.org']);

function done($output, $what) {
    if ($output instanceof BaseObject && !$output->toBool()) {
        throw new Exception("$what: " . $output->getMessage());
    }
    return $output;
}
