<?php
// Fills the boards that Rhymix's installer has made: for each board a skin and a layout, posts and comments. Prints the numbers of
// the posts by board, as JSON.
require __DIR__ . '/loaded.php';

$oModuleModel = getModel('module');
$oModuleController = getController('module');
$layouts = [];
$posts = [];
foreach ($values['boards'] as $mid => [$skin, $layout]) {
    $board = $oModuleModel->getModuleInfoByMid($mid);
    $args = clone $board;
    $args->skin = $skin;
    $args->is_skin_fix = 'Y';
    $args->layout_srl = $layouts[$layout] ??= layout($layout);
    $args->is_layout_fix = 'Y';
    $args->use_status = 'PUBLIC|@|SECRET';
    done($oModuleController->updateModule($args), "board $mid");
    // Guests read and write.
    foreach (['list', 'view', 'write_document', 'write_comment', 'access'] as $grant) {
        executeQuery('module.insertModuleGrant', (object)['module_srl' => $board->module_srl, 'name' => $grant, 'group_srl' => 0]);
    }
    for ($number = 1; $number <= 30; $number++) {
        $document = (object)['module_srl' => $board->module_srl, 'title' => "$mid: post $number", 'content' => "<p>Text of post $number, about the harbour.</p>",
            'nick_name' => 'Gull', 'user_name' => 'Gull', 'user_id' => '', 'member_srl' => 0, 'email_address' => '', 'password' => 'seagull',
            'commentStatus' => 'ALLOW', 'status' => 'PUBLIC', 'allow_comment' => 'Y'];
        $output = done(getController('document')->insertDocument($document, true), "post $number");
        $srl = $output->get('document_srl');
        $posts[$mid][] = (int)$srl;
        if ($number % 3 === 0) {
            $comment = (object)['module_srl' => $board->module_srl, 'document_srl' => $srl, 'content' => "<p>Comment on $number.</p>", 'nick_name' => 'Tern',
                'member_srl' => 0, 'password' => 'seagull', 'parent_srl' => 0];
            done(getController('comment')->insertComment($comment, true), "comment on $number");
        }
    }
}
print json_encode(['posts' => $posts]);

function layout($name) {
    $args = (object)['layout_srl' => getNextSequence(), 'site_srl' => 0, 'layout' => $name, 'title' => $name, 'layout_type' => 'P'];
    done(getAdminController('layout')->insertLayout($args), "layout $name");
    return $args->layout_srl;
}
