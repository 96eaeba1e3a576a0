<?php
// Makes members with these ids and nicks.
require __DIR__ . '/loaded.php';

foreach ($values['members'] as $id => $nick) {
    $member = (object)['user_id' => $id, 'nick_name' => $nick, 'user_name' => $nick, 'email_address' => "$id@example.org", 'password' => $values['password'],
        'is_admin' => 'N', 'denied' => 'N', 'status' => 'APPROVED', 'allow_mailing' => 'N'];
    done(getController('member')->insertMember($member), "member $id");
}
print json_encode(true);
